package pausable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picoclaw/picoclaw/internal/pausable"
)

func TestTimeStandsStillWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := pausable.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		made, cancelMade := context.WithTimeout(ctx, 4*time.Minute)
		defer cancelMade()
		time.Sleep(4 * time.Second)
		resume := pausable.Pause(made)
		again := pausable.Pause(ctx)
		time.Sleep(time.Minute)
		if end, ok := ctx.Deadline(); !ok || !end.Equal(time.Now().Add(6*time.Second)) {
			t.Errorf("while it stands still it would end at %v", end)
		}
		again()
		again() // counts once
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Fatal("it has ended while a person thinks")
		}
		resume()
		<-made.Done()
		if took := time.Since(began); took != 2*time.Minute+10*time.Second {
			t.Errorf("it has ended after %v", took)
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(made.Err(), context.DeadlineExceeded) {
			t.Errorf("%v, %v", ctx.Err(), made.Err())
		}
	})
}

func TestCancelledContextHasNoTimeoutError(t *testing.T) {
	parent, give := context.WithCancel(t.Context())
	ctx, cancel := pausable.WithTimeout(parent, time.Hour)
	defer cancel()
	give()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
	pausable.Pause(t.Context())() // there is nothing to pause
}
