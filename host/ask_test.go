package host

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picoclaw/picoclaw/internal/patience"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The time that a person takes for a tool's form is not the call's.
func TestTheCallsTimeStandsStillWhileAPersonFillsInAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := WithFormer(t.Context(), func(_ context.Context, f Form) (Filled, error) {
			time.Sleep(time.Hour) // of the test's own clock
			return Filled{Action: "accept", Values: f.Schema}, nil
		})
		ctx, cancel := patience.WithTimeout(ctx, time.Minute)
		defer cancel()
		answer := answers(ctx, "p.t")(&pluginpb.Question{Schema: []byte(`{}`)})
		if answer.GetAction() != "accept" || string(answer.GetContent()) != `{}` || ctx.Err() != nil {
			t.Errorf("%v, %v", answer, ctx.Err())
		}
		if refused := answers(ctx, "p.t")(&pluginpb.Question{Message: strings.Repeat("x", maxForm+1)}); refused.GetError() == "" {
			t.Errorf("%v", refused)
		}
	})
	if answers(t.Context(), "p.t") != nil {
		t.Error("somebody answers where nobody is")
	}
}
