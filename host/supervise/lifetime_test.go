//go:build linux

package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// pid returns the process of a spec's instance.
func (f *fixture) pid(s *InstanceSpec) int {
	f.t.Helper()
	n, err := strconv.Atoi(f.call(s, "pid", nil).GetText())
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// An instance that is no longer wanted finishes its calls and ends; calls from then on have another one.
func TestRetiredInstancesFinish(t *testing.T) {
	f := newFixture(t, false)
	f.options.StopTimeout = time.Minute // the call goes on until another instance has started, however long that takes
	s := f.spec()
	before := f.pid(s)
	file := filepath.Join(t.TempDir(), "go on")
	slow := make(chan string, 1)
	go func() {
		out, err := f.Call(t.Context(), s, request(t, "finish", map[string]any{"text": file}), CallCallbacks{})
		if err != nil {
			slow <- err.Error()
			return
		}
		slow <- out.GetText()
	}()
	hosttest.WaitUntil(t, "the call is under way", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, sl := range f.instances {
			if sl.instance.active == 1 {
				return true
			}
		}
		return false
	})
	f.StopUnwanted(func(*InstanceSpec) bool { return false })
	if after := f.pid(s); after == before {
		t.Error("a call was made to an instance that was not wanted any more")
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if text := <-slow; text != "finished" {
		t.Errorf("the call under way ended with %q", text)
	}
	hosttest.WaitUntil(t, "the old process is gone", func() bool { return !alive(before) })
}

// An instance that nobody calls ends by itself, unless it may have something in the background.
func TestIdleInstancesEnd(t *testing.T) {
	f := newFixture(t, false)
	f.options.IdleTimeout = 50 * time.Millisecond
	idle := f.spec("WHICH=idle")
	idle.Policy.Grants.Exec = false
	first, silent, busy := f.pid(idle), f.pid(f.spec("WHICH=silent")), f.pid(f.spec("BUSY=yes"))
	resting := f.pid(f.spec("BUSY=no"))
	hosttest.WaitUntil(t, "the idle ones are gone", func() bool { return !alive(first) && !alive(resting) })
	if !alive(silent) || !alive(busy) {
		t.Error("one was ended, too, that may have something in the background")
	}
	if again := f.pid(idle); again == first {
		t.Error("no other one was started")
	}
}

// A process that does not answer any more is found out during a call, long before the call's own deadline, and the next
// call has another one.
func TestHungPluginIsKilled(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.options.HealthInterval = 500 * time.Millisecond
		s := f.spec()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		// Its threads stop one after the other: this call's answer may still get out, and even some more.
		_, err := f.Call(ctx, s, request(t, "stop", nil), CallCallbacks{})
		for err == nil {
			_, err = f.Call(ctx, s, request(t, "pid", nil), CallCallbacks{})
		}
		if crash := (*CrashError)(nil); !errors.As(err, &crash) {
			t.Fatalf("the call ended with %v, want a crash", err)
		}
		f.call(s, "pid", nil)
	})
}
