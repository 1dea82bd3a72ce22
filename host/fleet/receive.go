package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/archive"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// expect notes that an agent's workspace will come, if there is room for it.
func (w *Worker) expect(ctx context.Context, o *order) error {
	w.mu.Lock()
	m, drained, mine := w.moves[o.Agent], w.drained, slices.Contains(w.agents, o.Agent)
	w.mu.Unlock()
	switch {
	case drained:
		return errors.New("it is drained; start it again first")
	case !mine:
		return fmt.Errorf("it does not serve agent %s: its configuration and its identity have to have it", o.Agent)
	case m != nil && m.State != expected && m.State != owned:
		return fmt.Errorf("agent %s is being moved already", o.Agent)
	}
	dir, err := w.workspace(o.Agent)
	if err == nil {
		err = vacant(dir)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orderWait/2)
	defer cancel()
	if err = w.fleet.inbox(ctx, w.options.Name); err == nil { // remains of a failed move
		err = storage.Clean(ctx, w.fleet.js, subject.In(w.options.Name), o.Agent)
	}
	if err != nil {
		return err
	}
	return w.note(o.Agent, &move{Agent: o.Agent, Peer: o.Peer, Key: o.Key, State: expected})
}

func vacant(dir string) error {
	empty, err := archive.Empty(dir)
	if err == nil && !empty {
		err = fmt.Errorf("its workspace %s is not empty, and nothing is overwritten; bring away what is there", dir)
	}
	return err
}

// settle does what a move is waiting for, and reports whether the agent may be taken as any other. p is who has it, nil
// for nobody.
func (w *Worker) settle(ctx context.Context, l *life, agent string, p *place, others *watch) (may bool, err error) {
	m := w.moveOf(agent)
	if p != nil && p.Sent != nil {
		switch {
		case p.Worker == w.options.Name && m != nil && m.State == unpacked &&
			p.Sent.Proof == m.proof(proofSent):
			return true, nil
		case p.Worker == w.options.Name:
			w.mu.Lock()
			defer w.mu.Unlock()
			w.begin(l, agent, func(ctx context.Context) { w.receive(ctx, m, p, agent) })
			return false, nil
		case m != nil && m.State == handed && p.Sent.Proof == m.proof(proofSent):
			silent, _, err := others.silent(ctx, p.Worker)
			return silent, err // then it is taken back, or the target was faster
		}
		return false, nil
	}
	if m == nil || m.State == expected || m.State == owned {
		return true, nil
	}
	kept := p != nil && p.Kept == m.proof(proofKept)
	switch {
	case m.State == handed && p != nil && p.Worker == w.options.Name:
		return true, nil
	case m.State == removing || m.State == handed && kept:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.begin(l, agent, func(ctx context.Context) { w.discard(ctx, m) })
		return false, nil
	case m.State == handed:
		return false, fmt.Errorf("its workspace was sent to %s, which has not shown that it has it; the copy of it stays here",
			m.Peer)
	case kept: // it was taken, and this had not been written down
		return false, w.advance(*m, owned)
	case p != nil && p.Worker == m.Peer: // it was taken back
		return false, w.forget(m)
	}
	return false, fmt.Errorf("its workspace has come from %s, and nobody says who has the agent", m.Peer)
}

// settled notes that the agent was taken.
func (w *Worker) settled(agent string) error {
	defer w.resume(agent) // which has been stopped, or was, in a life that ended there
	switch m := w.moveOf(agent); {
	case m != nil && m.State == handed: // it stays here
		return w.note(agent, nil)
	case m != nil && m.State == unpacked:
		return w.advance(*m, owned)
	}
	return nil
}

// kept is what this worker's placement has to show.
func (w *Worker) kept(agent string, before *place) string {
	if m := w.moveOf(agent); m != nil && (m.State == unpacked || m.State == owned) {
		return m.proof(proofKept)
	}
	if before != nil {
		return before.Kept
	}
	return ""
}

// forget removes what has come of a workspace that stays with the other worker.
func (w *Worker) forget(m *move) error {
	if m.State == unpacking || m.State == unpacked {
		dir, err := w.workspace(m.Agent)
		if err == nil {
			err = archive.Clear(dir)
		}
		if err != nil {
			return fmt.Errorf("remove what has come of the workspace: %w", err)
		}
	}
	return w.note(m.Agent, nil)
}

// receive unpacks a workspace, or gives the agent back.
func (w *Worker) receive(ctx context.Context, m *move, p *place, agent string) {
	err := w.unpack(ctx, m, p.Sent)
	if ctx.Err() != nil {
		return // another life begins anew
	}
	_ = storage.Clean(ctx, w.fleet.js, subject.In(w.options.Name), agent) // or its time ends
	if err == nil {
		return // it is taken next
	}
	w.log.Warn("a workspace can't be taken, and its agent goes back", "agent", agent, "from", p.Sent.From, "error", err)
	if now := w.moveOf(agent); now != nil && now.State != owned {
		if forgetErr := w.forget(now); forgetErr != nil {
			w.log.Warn("what has come of a workspace stays here", "agent", agent, "error", forgetErr)
			return
		}
	}
	back := cmp.Or(p.Sent.From, w.options.Name) // or nobody has sent it
	why := fmt.Sprintf("%s can't take its workspace: %v", w.options.Name, err)
	if _, err := w.fleet.put(ctx, agent, place{Worker: back, Why: why[:min(len(why), mostWhy)]}, p.epoch); err != nil {
		w.log.Warn("an agent could not be given back yet", "agent", agent, "error", err)
	}
}

// mostWhy bounds what a placement says of why an agent has come back.
const mostWhy = 500

// unpack gets a workspace, and puts it where it belongs.
func (w *Worker) unpack(ctx context.Context, m *move, s *sent) error {
	if m == nil || m.Peer != s.From {
		return errors.New("nobody has told it that it would come")
	}
	now := *m
	now.Digest = s.Digest
	if s.Proof != now.proof(proofSent) {
		return errors.New("it was not sent by whom it was to come from")
	}
	dir, err := w.workspace(m.Agent)
	if err != nil {
		return err
	}
	if m.State == unpacking || m.State == unpacked { // it has been emptied, or was so
		err = archive.Clear(dir)
	} else {
		err = vacant(dir)
	}
	if err != nil {
		return err
	}
	if err = w.advance(now, unpacking); err != nil {
		return err
	}
	object, err := storage.Open(ctx, w.fleet.js, subject.In(w.options.Name), s.Object)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := archive.Unpack(ctx, dir, io.TeeReader(object, sum), archive.DefaultLimits()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != s.Digest {
		return errors.New("what has come is not what was sent")
	}
	return w.advance(now, unpacked)
}

// inbox makes the bucket for what is sent to a worker, where no hub has.
func (f *Fleet) inbox(ctx context.Context, worker string) error {
	_, err := f.js.Stream(ctx, "OBJ_"+subject.In(worker))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = storage.Make(ctx, f.conn, f.tenant, []string{worker})
	}
	if err != nil {
		return fmt.Errorf("open the fleet's bucket %s: %w", subject.In(worker), err)
	}
	return nil
}
