//go:build linux

package supervise

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestHostStdinNotInherited(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func(old *os.File) { os.Stdin = old }(os.Stdin)
		os.Stdin = r
		if _, err := io.WriteString(w, "for the host alone"); err != nil {
			t.Fatal(err)
		}
		f.call(f.spec(), "pid", nil)
		_ = w.Close()
		left, err := io.ReadAll(r)
		if err != nil || string(left) != "for the host alone" {
			t.Errorf("of the host's standard input %q is left (%v)", left, err)
		}
	})
}

func TestHostEnvironmentNotInherited(t *testing.T) {
	t.Setenv("A_SECRET", "of the host's")
	each(t, func(t *testing.T, f *fixture) {
		env := f.call(f.spec("GIVEN=yes"), "environ", nil).GetText()
		if strings.Contains(env, "A_SECRET") || !strings.Contains(env, "GIVEN=yes") {
			t.Errorf("the plugin's environment is\n%s", env)
		}
	})
}

func TestLargeMessagesPassBothWays(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const size = 9 << 20 // gRPC's own limit is 4 MiB
		if got := f.call(f.spec(), "fill", map[string]any{"bytes": size}).GetText(); len(got) != size {
			t.Errorf("%d bytes came back, not %d", len(got), size)
		}
		text := strings.Repeat("y", size)
		if got := f.call(f.spec(), "echo", map[string]any{"text": text}).GetText(); got != text {
			t.Errorf("%d bytes came back, not %d", len(got), size)
		}
	})
}

func TestMessagesAreCapped(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const size = 64<<20 + 1
		for tool, args := range map[string]map[string]any{
			"fill": {"bytes": size}, "echo": {"text": strings.Repeat("y", size)},
		} {
			_, err := f.Call(t.Context(), f.spec(), request(t, tool, args), CallCallbacks{})
			if err == nil || !strings.Contains(err.Error(), "larger than max") {
				t.Errorf("%s with %d bytes: %.200v", tool, size, err)
			}
		}
		f.call(f.spec(), "pid", nil)
	})
}

func TestEqualSpecsShareInstance(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var wg sync.WaitGroup
		pids := make([]string, 8)
		for i := range pids {
			wg.Go(func() {
				out, err := f.Call(t.Context(), f.spec(), request(t, "pid", nil), CallCallbacks{})
				if err != nil {
					t.Error(err)
					return
				}
				pids[i] = out.GetText()
			})
		}
		wg.Wait()
		for _, pid := range pids {
			if pid != pids[0] {
				t.Fatalf("the same spec is served by %v", pids)
			}
		}
		if n := len(f.RunningPIDs()["tester"]); n != 1 {
			t.Errorf("%d instances run", n)
		}
		f.call(f.spec("OTHER=1"), "pid", nil)
		if n := len(f.RunningPIDs()["tester"]); n != 2 {
			t.Errorf("another spec did not get an instance of its own: %d run", n)
		}
	})
}

func TestPanicFailsOneCall(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		before := f.call(f.spec(), "pid", nil).GetText()
		e := f.call(f.spec(), "panic", nil).GetError()
		if e.GetCode() != pluginpb.CodePanic || !strings.Contains(e.GetMessage(), "on purpose") {
			t.Errorf("the panic became %v", e)
		}
		if after := f.call(f.spec(), "pid", nil).GetText(); after != before {
			t.Errorf("the plugin did not live on: %s, then %s", before, after)
		}
	})
}

func TestPluginEndSeenDespiteOpenPipes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.call(f.spec(), "pid", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // half as long as the grandchild lives
		defer cancel()
		_, err := f.Call(ctx, f.spec(), request(t, "crash", nil), CallCallbacks{})
		var crash *CrashError
		if !errors.As(err, &crash) {
			t.Fatalf("the error is %v", err)
		}
		if !strings.Contains(crash.Exit, "exit status 2") || !strings.Contains(crash.Stderr, "these are my last words") {
			t.Errorf("the crash is told as %q", err)
		}
		f.call(f.spec(), "pid", nil) // and the next call starts another
	})
}

func TestCancellingCallCancelsTool(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen []*pluginpb.CallEvent
		_, err := f.Call(ctx, f.spec(), request(t, "wait", nil), CallCallbacks{Event: func(e *pluginpb.CallEvent) {
			seen = append(seen, e)
			cancel()
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		if len(seen) != 1 || seen[0].GetProgress().GetMessage() != "waiting" {
			t.Errorf("the events are %v", seen)
		}
		f.call(f.spec(), "pid", nil)
	})
}

func TestStoppedPluginBlocksOnlyItsCall(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		frozen := f.spec("FROZEN=1")
		f.call(frozen, "pid", nil) // it has started, however long that took
		hosttest.WaitUntil(t, "a call of the stopped plugin runs out of time", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := f.Call(ctx, frozen, request(t, "stop", nil), CallCallbacks{}) // the answer may get out just before
			return errors.Is(err, context.DeadlineExceeded)
		})
		f.call(f.spec(), "pid", nil)
		closed := make(chan error, 1)
		go func() { closed <- f.Close(context.Background()) }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("a stopped plugin keeps the host from closing")
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.call(f.spec("MISBEHAVE=stubborn"), "grandchild", nil)
		var pids []int
		for _, running := range f.RunningPIDs() {
			pids = append(pids, running...)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if hosttest.IsProcessAlive(pid) {
				t.Errorf("process %d lives on", pid)
			}
		}
		left, err := os.ReadDir(f.home + "/run")
		if err != nil || len(left) != 1 { // the lock of the directory itself
			t.Errorf("left in the run directory: %v, %v", left, err)
		}
		if _, err := f.Call(t.Context(), f.spec(), request(t, "pid", nil), CallCallbacks{}); err == nil {
			t.Error("a closed supervisor takes calls")
		}
	})
}

// RunningPIDs returns the process ids of running instances by plugin id.
func (s *Supervisor) RunningPIDs() map[string][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := make(map[string][]int)
	for _, sl := range s.instances {
		select {
		case <-sl.started:
			if sl.instance != nil {
				id := sl.instance.spec.Manifest.ID
				running[id] = append(running[id], sl.instance.runner.process.Load().Pid())
			}
		default:
		}
	}
	return running
}
