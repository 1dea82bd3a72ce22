package supervise

import (
	"context"
	"slices"
	"time"
)

// full reports whether a spec's owner has as many instances as it may; mu is held.
func (s *Supervisor) full(spec *Spec) bool {
	if spec.Most <= 0 {
		return false
	}
	n := 0
	for _, sl := range s.instances {
		if sl.owner == spec.Owner {
			n++
		}
	}
	return n >= spec.Most
}

// makeRoom ends the instance of a spec's owner that was not called for longest, of those that nothing is lost with. It
// waits for one until ctx is done.
func (s *Supervisor) makeRoom(ctx context.Context, spec *Spec) error {
	for {
		idle, stirred := s.idleOf(spec.Owner)
		for _, c := range idle {
			if !c.instance.busy() && s.evict(c) {
				return nil
			}
		}
		select {
		case <-stirred:
		case <-ctx.Done():
			return &FullError{spec.Owner, spec.Most, ctx.Err()}
		}
	}
}

// candidate is an idle instance as it was found.
type candidate struct {
	*slot
	key  string
	used time.Time
}

// idleOf returns an owner's instances without a call, the one first that was not called for longest, and what is closed
// when there may be others. One that has started for a call that has not come to it is none of them.
func (s *Supervisor) idleOf(owner string) (idle []candidate, stirred <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sl := range s.instances {
		if sl.owner != owner {
			continue
		}
		select {
		case <-sl.ready:
		default:
			continue
		}
		if in := sl.instance; in != nil && in.active == 0 && !in.lastUsed.IsZero() {
			idle = append(idle, candidate{sl, key, in.lastUsed})
		}
	}
	slices.SortFunc(idle, func(a, b candidate) int { return a.used.Compare(b.used) })
	if s.stirred == nil {
		s.stirred = make(chan struct{})
	}
	return idle, s.stirred
}

// evict takes an instance out of use and stops it, unless it was called since it was found idle.
func (s *Supervisor) evict(c candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := c.instance
	if in.retired || in.active > 0 || !in.lastUsed.Equal(c.used) {
		return false
	}
	in.logger.Debug("stopped, to make room for another plugin of the same owner's")
	s.retire(c.key, c.slot)
	s.retired.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
		defer cancel()
		in.stop(ctx)
	})
	return true
}

// stir wakes those who wait for room; mu is held.
func (s *Supervisor) stir() {
	if s.stirred != nil {
		close(s.stirred)
		s.stirred = nil
	}
}
