//go:build linux

package supervise

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestEachCallGetsItsResult(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		spec := f.spec()
		f.call(spec, "pid", nil)
		const callers, calls = 4 * maxIdleStreams, 20
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				for n := range calls {
					want := fmt.Sprintf("%d of %d", n, caller)
					out, err := f.Call(t.Context(), spec, request(t, "echo", map[string]string{"text": want}), CallCallbacks{})
					if err != nil || out.GetText() != want {
						t.Errorf("the call for %q brought %v, %v", want, out, err)
					}
				}
			})
		}
		wg.Wait()
		in, err := f.acquireInstance(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer f.releaseInstance(in)
		if kept := len(in.streams.idle); kept == 0 || kept > maxIdleStreams {
			t.Errorf("%d streams are kept; at least one and at most %d are wanted", kept, maxIdleStreams)
		}
	})
}

func TestLateEventsReachNoOtherCall(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		spec := f.spec()
		f.call(spec, "late", nil)
		for range 200 {
			_, err := f.Call(t.Context(), spec, request(t, "pid", nil), CallCallbacks{Event: func(e *pluginpb.CallEvent) {
				t.Errorf("another call's event: %v", e)
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestDeadlineReachesTool(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for want, limit := range map[string]func() (context.Context, context.CancelFunc){
			"true":  func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Minute) },
			"false": func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		} {
			ctx, cancel := limit()
			out, err := f.Call(ctx, f.spec(), request(t, "deadline", nil), CallCallbacks{})
			cancel()
			if err != nil || out.GetText() != want {
				t.Errorf("the deadline: %v, %v; want %s", out, err, want)
			}
		}
	})
}
