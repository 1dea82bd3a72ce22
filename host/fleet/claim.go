package fleet

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"
)

// claims looks after the placements of the agents that the worker has: each once in a while, and at once where a caller
// has named a later epoch.
func (w *Worker) claims(l *life, others *watch) {
	w.mu.Lock()
	var due []*served
	for agent, s := range w.served {
		if !w.busy[agent] && (s.doubted.Swap(false) || time.Now().After(s.look)) {
			due = append(due, s)
		}
	}
	w.mu.Unlock()
	for _, s := range due {
		s.look = time.Now().Add(lookAgain/2 + rand.N(lookAgain/2))
		if err := w.claim(l, s, others); err != nil {
			w.log.Warn("whether the fleet still says who has an agent could not be seen to", "agent", s.agent, "error", err)
		}
	}
}

// claim writes again who has an agent where somebody has written over it or removed it. Nobody who keeps to the rules
// does while the lease lasts. An entry that names another worker which lives is left as it is: whoever has forged it,
// callers go there, and two that write against each other help nobody.
func (w *Worker) claim(l *life, s *served, others *watch) error {
	ctx, cancel := context.WithTimeout(l, renewEvery)
	defer cancel()
	last, err := w.fleet.latest(ctx, s.agent)
	if err != nil || last.revision <= s.epoch.Load() { // a smaller one is the lease's to find out
		return err
	}
	p := &place{}
	if !last.gone && json.Unmarshal(last.value, p) == nil && p.check() == nil && p.Worker != w.options.Name {
		if lives, err := others.lives(ctx, p.Worker); err != nil || lives {
			return err
		}
	}
	if !l.sure() {
		return nil
	}
	epoch, err := w.fleet.take(ctx, s.agent, l.lease, &place{epoch: last.revision}, w.kept(s.agent, nil), "")
	if err == nil {
		err = s.journal.took(epoch)
	}
	if err != nil {
		return err
	}
	s.epoch.Store(epoch)
	w.log.Warn("somebody has written over who has an agent, and it was written anew", "agent", s.agent, "epoch", epoch)
	return w.fleet.conn.Publish(w.fleet.changed(s.agent), nil)
}
