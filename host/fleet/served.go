package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The bounds of what callers can keep busy.
const (
	maxRunning = 256              // calls of one agent
	maxLists   = 8                // of an agent's tools that are made at once
	maxUploads = 4                // calls that are coming in several messages, of one worker
	uploadTime = time.Minute      // after which one is forgotten, however often it begins anew
	callerGone = 30 * time.Second // a call whose caller says nothing for so long is cancelled
)

// served is an agent that a worker has, with one epoch.
type served struct {
	worker  *Worker
	lease   *lease
	agent   string
	epoch   uint64
	kept    string      // the proof in its placement
	left    atomic.Bool // it was given away: what comes with its epoch is not taken, and all else is another worker's
	since   time.Time
	journal *journal

	calls    atomic.Int64 // that run; who asks for them does not wait for the journal
	mu       sync.Mutex
	closed   bool // no further call
	lists    int  // of tools, that are being made
	running  map[string]*running
	coming   map[string]*upload
	sessions map[session.Origin]openSession
	ended    sync.WaitGroup
}

// upload is a call of which not all has come yet.
type upload struct {
	body []byte
	part int
	over *time.Timer // forgets it
}

// digest is of all that a call is.
func digest(r *request, agent string, arguments []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", agent, r.Origin, r.Tool)
	h.Write(arguments)
	return hex.EncodeToString(h.Sum(nil))
}

// mayBe reports whether a message may be a caller's, who wants to be answered where this agent's callers listen: at
// GATEWAY.RANDOM.ID-N. NATS does not look at where answers are to go.
func (s *served) mayBe(to string) bool {
	rest, here := strings.CutPrefix(to, s.worker.fleet.from(s.agent))
	return here && strings.Count(rest, ".") == 2
}

// say answers. What does not arrive is asked for again.
func (s *served) say(to string, r reply, body []byte) {
	r.envelope, r.Epoch = sealed(), s.epoch
	data, err := encode(r, body)
	if err == nil {
		s.send(to, data)
	}
}

// refuse answers that a request is none that can be served.
func (s *served) refuse(to, id string, err error) {
	s.say(to, reply{Kind: kindRefused, ID: id, Why: err.Error()}, nil)
}

// send sends what has been encoded, if nobody else can have the agent.
func (s *served) send(to string, data []byte) {
	if s.lease.sure() {
		_ = s.worker.fleet.conn.Publish(to, data)
	}
}

// onCall takes a call, or a question about one.
func (s *served) onCall(data []byte, to string) {
	if !s.mayBe(to) {
		return
	}
	r, body, err := decode[request](data)
	if s.left.Load() && (err != nil || r.Epoch != s.epoch) {
		return
	}
	if err != nil {
		id, _ := numbered(to) // it has not said which call it is, or in words that are not known
		s.refuse(to, id, err)
		return
	}
	if r.Epoch != s.epoch {
		s.say(to, reply{Kind: kindMoved, ID: r.ID, HeldMS: time.Since(s.since).Milliseconds()}, nil)
		return
	}
	if r.Parts > 1 {
		if body = s.gather(r, body); body == nil {
			return
		}
	} else {
		body = bytes.Clone(body)
	}
	if !r.Probe {
		err = checkOrigin(r.Origin)
		if r.ID == "" || len(r.ID) > 64 || r.Digest != digest(r, s.agent, body) {
			err = errors.New("the call did not arrive as it was sent")
		}
		if err != nil {
			s.refuse(to, r.ID, err)
			return
		}
	}
	s.take(r, body, to)
}

// checkOrigin says why calls of an origin can't come from another machine. What an agent does by itself happens where
// it is.
func checkOrigin(o session.Origin) error {
	if o == session.CLI || o == session.MCP {
		return nil
	}
	return fmt.Errorf("a call of origin %q can't come from another machine", o)
}

// gather puts a call together; nil while it is not whole. The parts come in order, or what was there is forgotten.
func (s *served) gather(r *request, body []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.coming[r.ID]
	if r.Part == 1 {
		if u != nil {
			u.body, u.part = nil, 0
		} else {
			select {
			case s.worker.uploads <- struct{}{}:
			default:
				return nil // the caller asks again
			}
			u = &upload{}
			u.over = time.AfterFunc(uploadTime, func() { // its place is every agent's
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.coming[r.ID] == u {
					s.drop(r.ID)
				}
			})
			s.coming[r.ID] = u
		}
	}
	if u == nil || r.Part != u.part+1 || len(u.body)+len(body) > pluginpb.MaxArgumentBytes {
		if u != nil {
			s.drop(r.ID)
		}
		return nil
	}
	u.body, u.part = append(u.body, body...), r.Part
	if r.Part < r.Parts {
		return nil
	}
	s.drop(r.ID)
	return u.body
}

// drop forgets an upload. The lock is held.
func (s *served) drop(id string) {
	s.coming[id].over.Stop()
	delete(s.coming, id)
	<-s.worker.uploads
}

// take begins a call that there was not, and says of others what has become of them.
func (s *served) take(r *request, arguments []byte, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	errOther := errors.New("another call has had this id")
	if run := s.running[r.ID]; run != nil {
		if r.Digest != run.digest {
			s.refuse(to, r.ID, errOther)
			return
		}
		s.say(to, reply{Kind: kindRunning, ID: r.ID, Seq: run.heard(r.Seen)}, nil)
		return
	}
	known, answer, err := s.journal.find(r.ID)
	switch {
	case err != nil:
		s.say(to, reply{Kind: kindUnknown, ID: r.ID, Why: err.Error()}, nil)
	case known != nil && known.digest != r.Digest:
		s.refuse(to, r.ID, errOther)
	case known != nil && answer != nil:
		s.send(to, answer)
	case known != nil && known.done:
		s.say(to, reply{Kind: kindUnknown, ID: r.ID, Why: "the call was made, and its answer is not kept any more"}, nil)
	case known != nil:
		s.say(to, reply{Kind: kindUnknown, ID: r.ID, Why: "the worker has begun the call, and ended before it did"}, nil)
	case r.First != 0 && !s.journal.had(tenure{r.First, r.Life}):
		s.say(to, reply{Kind: kindUnknown, ID: r.ID, Why: "another worker may have begun the call, or this one before its " +
			"machine was started anew"}, nil)
	case r.Probe:
		s.say(to, reply{Kind: kindUnseen, ID: r.ID}, nil)
	case s.closed:
		s.say(to, reply{Kind: kindClosing, ID: r.ID}, nil)
	case len(s.running) >= maxRunning:
		s.say(to, reply{Kind: kindBusy, ID: r.ID}, nil)
	default:
		run := newRunning(s, r, to)
		s.running[r.ID] = run
		s.calls.Add(1)
		s.ended.Go(func() {
			defer run.cancel()
			answer := run.run(arguments)
			s.mu.Lock()
			delete(s.running, r.ID) // who asks once it is answered is not told that it runs
			s.calls.Add(-1)
			s.mu.Unlock()
			if answer != nil {
				s.send(run.to, answer)
			}
		})
	}
}

// onCancel cancels a call.
func (s *served) onCancel(data []byte, to string) {
	if run := s.runningOf(data, to); run != nil {
		run.cancel()
	}
}

// onCredit notes what a caller has done with.
func (s *served) onCredit(data []byte, to string) {
	if run := s.runningOf(data, to); run != nil {
		r, _, _ := decode[request](data) // it could be
		run.heard(r.Seen)
	}
}

func (s *served) runningOf(data []byte, to string) *running {
	r, _, err := decode[request](data)
	if err != nil || r.Epoch != s.epoch || !s.mayBe(to) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[r.ID]
}

// toolList is what callers are told of an agent.
type toolList struct {
	Tools        []session.Tool `json:"tools"`
	Instructions string         `json:"instructions"`
}

// onTools says which tools the agent has.
func (s *served) onTools(data []byte, to string) {
	r, _, err := decode[request](data)
	if !s.mayBe(to) || s.left.Load() {
		return
	}
	if err == nil {
		err = checkOrigin(r.Origin)
	}
	if err != nil {
		id, _ := numbered(to)
		s.refuse(to, id, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists >= maxLists {
		return // the caller asks again
	}
	s.lists++
	go func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lists--
		}()
		var list []byte
		sess, done, err := s.session(r.Origin)
		if err == nil {
			defer done()
			list, err = json.Marshal(toolList{sess.Tools(), s.worker.options.Describe(sess)})
		}
		if err != nil {
			s.refuse(to, r.ID, err)
			return
		}
		s.send(to, s.sized(s.lease, reply{Kind: kindTools, ID: r.ID}, list))
	}()
}

// session opens the session of an origin, once for each host. Call done when nothing runs in it any more.
func (s *served) session(o session.Origin) (sess *session.Session, done func(), err error) {
	s.worker.mu.Lock()
	now := s.worker.current
	now.users.Add(1)
	s.worker.mu.Unlock()
	done = now.users.Done
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sessions[o]; known.of == now {
		return known.session, done, nil
	}
	if sess, err = now.host.OpenSession(s.agent, o); err != nil {
		done()
		return nil, nil, err
	}
	s.sessions[o] = openSession{sess, now}
	return sess, done, nil
}

// busy is how many calls run.
func (s *served) busy() int { return int(s.calls.Load()) }

// close takes no further call.
func (s *served) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// end ends what runs, and returns when it has ended.
func (s *served) end() {
	s.mu.Lock()
	s.closed = true
	for _, run := range s.running {
		run.end(errEnding)
	}
	for id := range s.coming {
		s.drop(id)
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// sized is a message as it is sent: as it is, or what says in which object it lies.
func (s *served) sized(ctx context.Context, r reply, body []byte) []byte {
	r.envelope, r.Epoch = sealed(), s.epoch
	data, err := encode(r, body)
	largest := min(messageBytes, s.worker.fleet.conn.MaxPayload()) - 4<<10 // within the size limit of NATS
	if err == nil && int64(len(data)) <= largest {
		return data
	}
	if err == nil {
		r = reply{envelope: sealed(), Epoch: s.epoch, Kind: kindLarge, ID: r.ID, Object: s.agent + "." + rand.Text(),
			Digest: fmt.Sprintf("%x", sha256.Sum256(data))}
		err = storage.Put(ctx, s.worker.fleet.js, subject.Results, s.agent, r.Object, bytes.NewReader(data))
	}
	if err != nil {
		r = reply{envelope: sealed(), Epoch: s.epoch, Kind: kindUnknown, ID: r.ID,
			Why: "the call was made, and its answer could not be kept for the caller: " + err.Error()}
	}
	data, _ = encode(r, nil) // of strings and numbers
	return data
}
