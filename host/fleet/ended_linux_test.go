package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Of a call that its worker has ended nobody knows how far it came; one that its caller has ended is cancelled.
func TestWhoEndsACallIsToldApart(t *testing.T) {
	for name, play := range map[string]struct {
		code, why string
		do        func(t *testing.T, w *endedWorld)
	}{
		"the worker stops": {CodeUnknown, errEnding.Error(), func(_ *testing.T, w *endedWorld) { w.stop() }},
		"it is drained": {CodeUnknown, errEnding.Error(), func(t *testing.T, w *endedWorld) {
			if err := w.admin.Drain(t.Context(), "one"); err != nil {
				t.Error(err)
			}
		}},
		"its agent is moved": {CodeUnknown, errEnding.Error(), func(t *testing.T, w *endedWorld) {
			runs(t, newMachine(t, w.address, "two").worker(t))
			there(t, w.admin, 2)
			if err := w.admin.Move(t.Context(), "main", "two", func(string) {}); err != nil {
				t.Error(err)
			}
		}},
		"NATS is away": {CodeUnknown, errLost.Error(), func(_ *testing.T, w *endedWorld) {
			w.cable.Cut()
			time.Sleep(sureFor + time.Second)
			w.cable.Restore()
		}},
		"its caller cancels": {pluginpb.CodeCancelled, "", func(_ *testing.T, w *endedWorld) { w.cancel() }},
		// Its caller and its worker know when: either may be first.
		"its caller's time is over": {pluginpb.CodeTimeout + pluginpb.CodeCancelled, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &endedWorld{address: startNATS(t)}
			var far string
			w.cable, far = lay(t, w.address)
			one := newMachine(t, far, "one")
			begun := make(chan struct{}, 100)
			one.tool(t, "wait", func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
				begun <- struct{}{}
				<-ctx.Done() // as a plugin's call does
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return &session.Result{Err: &session.Error{Code: pluginpb.CodeTimeout, Message: "it took too long"}}
				}
				return &session.Result{Err: &session.Error{Code: pluginpb.CodeCancelled, Message: "wait was cancelled"}}
			})
			w.admin = joined(t, w.address, "admin")
			w.stop = runs(t, one.worker(t))
			has(t, w.admin, "one")
			s := caller(t, joined(t, w.address, "gateway"), "main")
			results := make(chan *session.Result, 1)
			call := func(ctx context.Context) { results <- s.Call(ctx, "wait", args(""), nil) }
			var ctx context.Context
			ctx, w.cancel = context.WithCancel(t.Context())
			defer w.cancel()
			if play.do != nil {
				go call(ctx)
				<-begun
				play.do(t, w)
			} else {
				// On a busy machine it may take more time than there is for the call to begin.
				for limit := time.Second; len(begun) == 0; limit *= 2 {
					if len(results) > 0 {
						<-results
					}
					timed, cancel := context.WithTimeout(ctx, limit)
					call(timed)
					cancel()
				}
			}
			r := <-results
			if r.Err == nil || !strings.Contains(play.code, r.Err.Code) || !strings.Contains(r.Err.Message, play.why) {
				t.Errorf("%+v %v", r, r.Err)
			}
		})
	}
}

type endedWorld struct {
	address      string
	cable        *hosttest.FlakyProxy
	admin        *Fleet
	stop, cancel func()
}
