//go:build linux

package supervise

import (
	"context"
	"errors"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// owned is a spec of an owner that may have two instances.
func (f *fixture) owned(owner string, env ...string) *InstanceSpec {
	s := f.spec(append(env, "BUSY=no")...)
	s.Owner, s.MaxInstances = owner, 2
	return s
}

// The instance ends that was not called for longest, and none of another owner's.
func TestInstanceLimitPerOwner(t *testing.T) {
	f := newFixture(t, false)
	other := f.pid(f.owned("other", "N=0"))
	first, second := f.owned("one", "N=1"), f.owned("one", "N=2")
	before, kept := f.pid(first), f.pid(second)
	f.pid(f.owned("one", "N=3"))
	hosttest.WaitUntil(t, "the first one is gone", func() bool { return !alive(before) })
	if !alive(kept) || !alive(other) {
		t.Error("another one was ended than the one that was not called for longest")
	}
	if f.pid(second) != kept {
		t.Error("one that is there was started again")
	}
	if f.pid(first) == before {
		t.Error("no other one was started in the place of the one that was ended")
	}
}

// Who has all its instances in use waits for one of them.
func TestWaitForInstanceInUse(t *testing.T) {
	f := newFixture(t, false)
	calls, end := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for _, n := range []string{"N=1", "N=2"} {
		s := f.owned("one", n)
		f.pid(s)
		go func() {
			_, err := f.Call(calls, s, request(t, "wait", nil), CallCallbacks{})
			ended <- err
		}()
	}
	hosttest.WaitUntil(t, "both are in use", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, sl := range f.instances {
			if sl.instance.active == 0 {
				return false
			}
		}
		return true
	})
	third := f.owned("one", "N=3")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var full *InstanceLimitError
	if _, err := f.Call(ctx, third, request(t, "pid", nil), CallCallbacks{}); !errors.As(err, &full) || full.Owner != "one" {
		t.Errorf("a call that does not wait: %v", err)
	}
	f.pid(f.owned("other"))
	waits := make(chan error, 1)
	go func() {
		_, err := f.Call(t.Context(), third, request(t, "pid", nil), CallCallbacks{})
		waits <- err
	}()
	hosttest.WaitUntil(t, "it waits", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.roomSignal != nil
	})
	end()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
