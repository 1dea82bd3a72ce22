package supervise

import (
	"context"
	"slices"
	"time"
)

// isOwnerAtLimit reports whether a spec's owner has the maximum number of instances. The caller holds mu.
func (s *Supervisor) isOwnerAtLimit(spec *InstanceSpec) bool {
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

// evictIdle stops the owner's least recently called instance that is idle and has no background work. If there is
// none, it waits for one, and returns an error when ctx is done.
func (s *Supervisor) evictIdle(ctx context.Context, spec *InstanceSpec) error {
	for {
		idle, changed := s.listEvictionCandidates(spec.Owner)
		for _, c := range idle {
			if !c.instance.hasBackgroundWork() && s.stopIfIdle(c) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &InstanceLimitError{spec.Owner, spec.MaxInstances, ctx.Err()}
		}
	}
}

// evictionCandidate is an instance that was idle when it was listed, and may be stopped to make room for another.
type evictionCandidate struct {
	*sharedInstance
	key      string
	lastUsed time.Time
}

// listEvictionCandidates returns an owner's idle instances, least recently called first, and a channel that is closed
// when the list may change. It omits instances that were never called.
func (s *Supervisor) listEvictionCandidates(owner string) (idle []evictionCandidate, stirred <-chan struct{}) {
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
			idle = append(idle, evictionCandidate{sl, key, in.lastUsed})
		}
	}
	slices.SortFunc(idle, func(a, b evictionCandidate) int { return a.lastUsed.Compare(b.lastUsed) })
	if s.roomSignal == nil {
		s.roomSignal = make(chan struct{})
	}
	return idle, s.roomSignal
}

// stopIfIdle retires and stops an instance, unless it has been called since it was listed.
func (s *Supervisor) stopIfIdle(c evictionCandidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := c.instance
	if in.retired || in.active > 0 || !in.lastUsed.Equal(c.lastUsed) {
		return false
	}
	in.logger.Debug("stopped, because its owner needs another instance")
	s.retireLocked(c.key, c.sharedInstance)
	s.stops.Go(func() { s.stopWithinTimeout(in) })
	return true
}

// wakeLimitWaiters wakes callers that wait until their owner may start another instance. The caller holds mu.
func (s *Supervisor) wakeLimitWaiters() {
	if s.roomSignal != nil {
		close(s.roomSignal)
		s.roomSignal = nil
	}
}
