package supervise

import (
	"context"
	"slices"
	"time"
)

// atLimit reports whether a spec's owner has the maximum number of instances. The caller holds mu.
func (s *Supervisor) atLimit(spec *Spec) bool {
	if spec.MaxInstances <= 0 {
		return false
	}
	n := 0
	for _, sl := range s.instances {
		if sl.owner == spec.Owner {
			n++
		}
	}
	return n >= spec.MaxInstances
}

// evictIdle stops the owner's least recently called instance without background work. It waits for one until ctx is
// done.
func (s *Supervisor) evictIdle(ctx context.Context, spec *Spec) error {
	for {
		idle, changed := s.listIdleInstances(spec.Owner)
		for _, c := range idle {
			if !c.instance.hasBackgroundWork() && s.stopIfIdle(c) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &FullError{spec.Owner, spec.MaxInstances, ctx.Err()}
		}
	}
}

// idleInstance is an instance that was idle when it was listed.
type idleInstance struct {
	*slot
	key      string
	lastUsed time.Time
}

// listIdleInstances returns an owner's idle instances, least recently called first, and a channel that is closed when
// there may be others. It omits an instance whose first call has not arrived.
func (s *Supervisor) listIdleInstances(owner string) (idle []idleInstance, stirred <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sl := range s.instances {
		if sl.owner != owner {
			continue
		}
		select {
		case <-sl.started:
		default:
			continue
		}
		if in := sl.instance; in != nil && in.active == 0 && !in.lastUsed.IsZero() {
			idle = append(idle, idleInstance{sl, key, in.lastUsed})
		}
	}
	slices.SortFunc(idle, func(a, b idleInstance) int { return a.lastUsed.Compare(b.lastUsed) })
	if s.roomSignal == nil {
		s.roomSignal = make(chan struct{})
	}
	return idle, s.roomSignal
}

// stopIfIdle retires and stops an instance, unless it has been called since it was listed.
func (s *Supervisor) stopIfIdle(c idleInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := c.instance
	if in.retired || in.active > 0 || !in.lastUsed.Equal(c.lastUsed) {
		return false
	}
	in.logger.Debug("stopped, because its owner needs another instance")
	s.retireLocked(c.key, c.slot)
	s.stops.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
		defer cancel()
		in.stopGracefully(ctx)
	})
	return true
}

// signalRoom wakes callers that wait for room. The caller holds mu.
func (s *Supervisor) signalRoom() {
	if s.roomSignal != nil {
		close(s.roomSignal)
		s.roomSignal = nil
	}
}
