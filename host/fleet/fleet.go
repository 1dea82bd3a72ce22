// Package fleet carries calls between machines over NATS: a [Worker] serves the sessions of the agents whose workspaces
// are on its machine, and a [Client] anywhere has [Session]s that look like those.
//
// The worker decides. A request says what is to be called and no more: policy, guard, approvals, sandbox and record are
// those of the worker's own host, whatever a caller says.
//
// Every agent is with one worker at a time. Which one stands in a KV bucket with an epoch, which is the revision of
// that entry and so never comes twice; every call carries it. A worker that can't be sure that it still has its agents
// answers nothing and ends what it runs, before another one may take them (see lease).
//
// A call is run at most once. It has an id, and the worker writes down that it has begun before it runs it (see
// journal): who asks again is given the answer that there was, or told that nobody knows.
//
// The package must not know how a call is decided on or done, who shows results to whom, nor where credentials come
// from.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Fleet is a connection to NATS as one tenant. It may be used concurrently.
type Fleet struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	tenant    string
	placement jetstream.KeyValue
	stream    jetstream.Stream // of the placement
	caller    string           // a token: who asks, among others of the tenant
}

// tokenPattern is what may stand between the dots of a subject.
var tokenPattern = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// Join opens what the fleet keeps in NATS. Buckets that are missing are made, if the connection may.
func Join(ctx context.Context, conn *nats.Conn, tenant string) (*Fleet, error) {
	if !tokenPattern().MatchString(tenant) {
		return nil, fmt.Errorf("%q is no tenant: letters, digits, _ and -, at most 64", tenant)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	f := &Fleet{conn: conn, js: js, tenant: tenant, caller: strings.TrimPrefix(conn.Opts.InboxPrefix, subject.Inbox(""))}
	f.placement, err = js.KeyValue(ctx, subject.Placement)
	if errors.Is(err, jetstream.ErrBucketNotFound) { // no hub has made it
		if err = storage.Make(ctx, conn, tenant, nil); err == nil {
			f.placement, err = js.KeyValue(ctx, subject.Placement)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the fleet's bucket %s (the NATS server needs JetStream): %w", subject.Placement, err)
	}
	if f.stream, err = js.Stream(ctx, "KV_"+subject.Placement); err != nil {
		return nil, fmt.Errorf("open the fleet's bucket %s: %w", subject.Placement, err)
	}
	return f, nil
}

// Close ends the connection.
func (f *Fleet) Close() { f.conn.Close() }

// Reached says why NATS is not reached now.
func (f *Fleet) Reached() error {
	if f.conn.IsConnected() {
		return nil
	}
	return errors.New("NATS is not reached")
}

// to is the subject on which an agent's worker is asked.
func (f *Fleet) to(agent, verb string) string { return subject.Workspace(f.tenant, agent, verb) }

// from is what all subjects begin with on which an agent's worker answers.
func (f *Fleet) from(agent string) string { return subject.Answers(f.tenant, agent) }

// changed is where a worker says that an agent's tools are others, or with somebody else.
func (f *Fleet) changed(agent string) string { return f.from(agent) + subject.Changed }

// Placed is the placement of one agent, as far as it is known.
type Placed struct {
	Agent  string `json:"agent"`
	Worker string `json:"worker"`
	Epoch  uint64 `json:"epoch"`
	From   string `json:"from,omitempty"`  // its workspace is on its way from there
	Alive  bool   `json:"alive"`           // its worker has given a sign of life not long ago
	Fault  string `json:"fault,omitempty"` // why its entry can't be read
}

// Sign is the part of a worker's sign of life that people see.
type Sign struct {
	Worker  string `json:"worker"`
	Version string `json:"version"` // of its picoclaw
	Agents  int    `json:"agents"`
	Running int    `json:"running"`
	Drained bool   `json:"drained,omitempty"`
	Config  uint64 `json:"config,omitempty"` // the number of the fleet's configuration that it has
	Fault   string `json:"fault,omitempty"`  // why it has not taken the last one
}

// lookups is how many entries are looked up at once.
const lookups = 16

// Status is the fleet as its bucket has it: the workers that live, and the agents, sorted by name.
func (f *Fleet) Status(ctx context.Context) (workers []Sign, agents []Placed, err error) {
	entries, now, err := f.entries(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the fleet's bucket %s: %w", subject.Placement, err)
	}
	living := map[string]string{} // a worker's instance
	for key, m := range entries {
		if _, is := strings.CutPrefix(key, subject.SignKey("")); !is || now.Sub(m.Time) >= silentFor {
			continue
		}
		var s sign
		if json.Unmarshal(m.Data, &s) == nil && key == subject.SignKey(s.Worker) {
			living[s.Worker] = s.Instance
			workers = append(workers, s.Sign)
		}
	}
	for key, m := range entries {
		if strings.HasPrefix(key, subject.SignKey("")) {
			continue
		}
		placed, p := Placed{Agent: key, Epoch: m.Sequence}, &place{}
		if err := errors.Join(json.Unmarshal(m.Data, p), p.check()); err != nil {
			placed.Fault = err.Error()
		} else {
			life, lives := living[p.Worker]
			placed.Worker, placed.Alive = p.Worker, lives && (p.Sent != nil || life == p.Instance)
		}
		if p.Sent != nil {
			placed.From = p.Sent.From
		}
		agents = append(agents, placed)
	}
	slices.SortFunc(workers, func(a, b Sign) int { return strings.Compare(a.Worker, b.Worker) })
	slices.SortFunc(agents, func(a, b Placed) int { return strings.Compare(a.Agent, b.Agent) })
	return workers, agents, nil
}

// entries are the latest entries of all keys that were not deleted, and the server's time.
func (f *Fleet) entries(ctx context.Context) (map[string]*jetstream.RawStreamMsg, time.Time, error) {
	info, err := f.stream.Info(ctx, jetstream.WithSubjectFilter("$KV."+subject.Placement+".>"))
	if err != nil {
		return nil, time.Time{}, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	found, failed, free := map[string]*jetstream.RawStreamMsg{}, error(nil), make(chan struct{}, lookups)
	for of := range info.State.Subjects {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			m, err := f.stream.GetLastMsgForSubject(ctx, of)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, jetstream.ErrMsgNotFound): // it has expired meanwhile
			case err != nil:
				failed = err
			case m.Header.Get("KV-Operation") == "":
				found[strings.TrimPrefix(of, "$KV."+subject.Placement+".")] = m
			}
		})
	}
	all.Wait()
	return found, info.TimeStamp, failed
}
