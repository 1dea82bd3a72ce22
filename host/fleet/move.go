package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet/archive"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// move is what a worker has written down of an agent's move, one file each: so that whoever is killed at any point
// knows what to do next. What both workers see is the agent's placement, which one of them at a time can change:
//
//   - it says that the source has the agent: what has been sent is nothing;
//   - it says that the target is sent it ([sent]): nobody serves it, and only these two may take it, the source when
//     the target is silent or has given it back;
//   - it says that the target has it, with proof that what it has is what was sent: then the source removes its copy,
//     if that is still what was sent.
type move struct {
	Agent  string    `json:"agent"`
	Peer   string    `json:"peer"`
	Key    string    `json:"key"`
	State  moveState `json:"state"`
	Digest string    `json:"digest,omitempty"`
}

type moveState string

const (
	// Of the target.
	expected  moveState = "expected"  // nothing has come
	unpacking moveState = "unpacking" // what is in the workspace is what has come, as far as it has
	unpacked  moveState = "unpacked"  // it is all there, and on the disk
	owned     moveState = "owned"     // the agent was taken with it
	// Of the source.
	handed   moveState = "sent"
	removing moveState = "removing" // the target has it, and the copy is on its way out
)

// What a proof is of.
const (
	proofSent = "sent"
	proofKept = "kept"
)

// proof shows the other worker who says something of the move: others can write placements, and do not know the key.
func (m *move) proof(what string) string {
	h := hmac.New(sha256.New, []byte(m.Key))
	if what == proofSent {
		fmt.Fprintf(h, "%s\x00%s\x00%s", what, m.Agent, m.Digest)
	} else { // what was sent has been compared
		fmt.Fprintf(h, "%s\x00%s", what, m.Agent)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sent says in a placement that a workspace is on its way to the worker there.
type sent struct {
	From   string `json:"from"`
	Object string `json:"object"`
	Digest string `json:"digest"`
	Proof  string `json:"proof"`
}

// note writes a move down, or that there is none any more.
func (w *Worker) note(agent string, m *move) error {
	file := filepath.Join(w.options.Home, "fleet", "moves", subject.Token(agent))
	if m == nil {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else {
		data, err := json.Marshal(m)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = atomicfile.WriteFile(file, data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write down the move of agent %s: %w", agent, err)
		}
	}
	w.mu.Lock()
	if m == nil {
		delete(w.moves, agent)
	} else {
		w.moves[agent] = m
	}
	w.mu.Unlock()
	return atomicfile.SyncDir(filepath.Dir(file))
}

// advance writes down that a move has come to a state.
func (w *Worker) advance(m move, to moveState) error {
	m.State = to
	return w.note(m.Agent, &m)
}

// readMoves reads what was written down in earlier lives.
func (w *Worker) readMoves() error {
	files, err := filepath.Glob(filepath.Join(w.options.Home, "fleet", "moves", "[^.]*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		m := &move{}
		if err == nil {
			err = json.Unmarshal(data, m)
		}
		if err != nil {
			return fmt.Errorf("read what was written down of a move, %s: %w", file, err)
		}
		w.moves[m.Agent] = m
	}
	return nil
}

func (w *Worker) moveOf(agent string) *move {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moves[agent]
}

// workspace is where an agent's workspace is, if it can be moved.
func (w *Worker) workspace(agent string) (string, error) {
	if w.options.Workspace == nil {
		return "", errors.New("this worker moves no workspaces")
	}
	return w.options.Workspace(agent)
}

// send begins to move an agent to another worker.
func (w *Worker) send(l *life, o *order) error {
	dir, err := w.workspace(o.Agent)
	if err != nil {
		return err
	}
	if stop := killswitch.ReadStopOfAgent(w.options.Home, o.Agent); stop != nil {
		return fmt.Errorf("%s; `%s` first", stop, stop.CommandToResume())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, m := w.served[o.Agent], w.moves[o.Agent]
	switch {
	case w.busy[o.Agent] || m != nil && m.State != expected && m.State != owned:
		return fmt.Errorf("agent %s is being moved already", o.Agent)
	case s == nil:
		return fmt.Errorf("it does not have agent %s", o.Agent)
	}
	m = &move{Agent: o.Agent, Peer: o.Peer, Key: o.Key}
	w.states[o.Agent] = "what runs may end"
	w.begin(l, o.Agent, func(ctx context.Context) {
		err := w.carry(ctx, s, m, dir)
		w.lose(s)
		if err != nil {
			w.log.Warn("an agent is not moved", "agent", o.Agent, "to", o.Peer, "error", err)
			w.mu.Lock()
			w.why[o.Agent] = err.Error()
			w.mu.Unlock()
			w.resume(o.Agent)
		}
	})
	return nil
}

// stopped is why an agent is stopped while its workspace is sent, on all of this machine.
const stopped = "its workspace is being moved"

// resume lets an agent go on that was stopped to be moved.
func (w *Worker) resume(agent string) {
	if stop := killswitch.ReadStopOfAgent(w.options.Home, agent); stop != nil && stop.Why == stopped {
		if _, err := killswitch.ResumeAgent(w.options.Home, agent); err != nil {
			w.log.Warn("an agent stays stopped", "agent", agent, "error", err)
		}
	}
}

func (w *Worker) state(agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[agent] = text
}

// told is how far a move is, and whether it has not ended here.
func (w *Worker) told(o *order) (state string, holds bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.moves[o.Agent]
	return w.states[o.Agent], m != nil && m.Key == o.Key || w.busy[o.Agent] // what has been seen to may not be let go yet
}

// carry sends a workspace, and gives the agent to whom it is sent. On an error the worker has the agent as before.
func (w *Worker) carry(ctx context.Context, s *served, m *move, dir string) error {
	w.finish(ctx, s)
	// Commands in the background have not ended with their calls, and this machine has other ways to the agent.
	stop := killswitch.Stop{Agent: m.Agent, Time: time.Now(), By: "picoclaw fleet move", Why: stopped}
	if err := killswitch.StopAgent(w.options.Home, stop); err != nil {
		return err
	}
	stop.WaitUntilHostsRead()
	w.state(m.Agent, "the workspace is being sent")
	object := m.Agent + "." + rand.Text()
	digest, err := w.upload(ctx, dir, subject.In(m.Peer), m.Agent, object)
	if err != nil {
		return err
	}
	m.Digest, m.State = digest, handed
	if err = w.note(m.Agent, m); err != nil {
		return err
	}
	w.state(m.Agent, "the workspace is with "+m.Peer+", and being unpacked")
	if !s.lease.sure() {
		return errLost
	}
	_, err = w.fleet.put(ctx, m.Agent, place{Worker: m.Peer,
		Sent: &sent{From: w.options.Name, Object: object, Digest: digest, Proof: m.proof(proofSent)}}, s.epoch)
	w.given.Add(1)
	if err != nil {
		w.log.Warn("whether an agent was given away is looked up", "agent", m.Agent, "error", err)
	}
	return nil // what is written down is settled by what the placement says
}

// upload puts a workspace into a bucket.
func (w *Worker) upload(ctx context.Context, dir, bucket, agent, object string) (digest string, err error) {
	in, out := io.Pipe()
	sum := sha256.New()
	packed := make(chan error, 1)
	go func() {
		packErr := archive.Pack(ctx, dir, io.MultiWriter(out, sum), archive.DefaultLimits())
		_ = out.CloseWithError(packErr) // never fails
		packed <- packErr
	}()
	err = storage.Put(ctx, w.fleet.js, bucket, agent, object, in)
	_ = in.Close()
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		return "", fmt.Errorf("pack the workspace: %w", packErr)
	}
	if err != nil {
		return "", fmt.Errorf("send the workspace: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// discard removes the copy of what another worker has, if it is still what was sent.
func (w *Worker) discard(ctx context.Context, m *move) {
	dir, err := w.workspace(m.Agent)
	sum := sha256.New()
	if err == nil && m.State != removing {
		err = archive.Pack(ctx, dir, sum, archive.DefaultLimits())
	}
	switch {
	case ctx.Err() != nil:
		return // the next life does it
	case err == nil && (m.State == removing || hex.EncodeToString(sum.Sum(nil)) == m.Digest):
		if err = w.advance(*m, removing); err == nil { // after a kill, the next life continues
			err = archive.Clear(dir)
		}
	case err == nil:
		err = errors.New("it has changed since it was sent")
	}
	if err != nil {
		w.log.Warn("the workspace of an agent that was moved stays here too", "agent", m.Agent, "workspace", dir, "error",
			err)
		w.state(m.Agent, fmt.Sprintf("the copy on %s stays: %v", w.options.Name, err))
	} else {
		w.log.Info("an agent was moved, and the copy of its workspace removed", "agent", m.Agent, "to", m.Peer)
		w.state(m.Agent, "the copy on "+w.options.Name+" is removed")
	}
	if err := w.note(m.Agent, nil); err != nil {
		w.log.Warn("a move stays written down", "agent", m.Agent, "error", err)
		return
	}
	w.resume(m.Agent)
}
