package serve_test

import (
	"context"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/internal/served"
	"github.com/picoclaw/picoclaw/sdk"
)

func TestWhatIsWrongWithAToolIsSaid(t *testing.T) {
	type badClaim struct {
		P string `json:"p" claim:"execute"`
	}
	type claimedNumber struct {
		N int `json:"n" claim:"read"`
	}
	type badDefault struct {
		N int `json:"n" default:"many"`
	}
	for want, tool := range map[string]sdk.Tool{
		"not one of read":       sdk.NewTool("t", "d", nothing[badClaim], sdk.Traits{}),
		"which is not a string": sdk.NewTool("t", "d", nothing[claimedNumber], sdk.Traits{}),
		"does not fit":          sdk.NewTool("t", "d", nothing[badDefault], sdk.Traits{}),
		"must be a struct":      sdk.NewTool("t", "d", nothing[string], sdk.Traits{}),
		"has no doc":            sdk.NewTool("t", "", nothing[struct{}], sdk.Traits{}),
		"tool name":             sdk.NewTool("T-1", "d", nothing[struct{}], sdk.Traits{}),
	} {
		p := sdk.Plugin{ID: "p", Version: "1", Doc: "d", Tools: []sdk.Tool{tool}}
		if _, err := served.Manifest(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want it to say %q", err, want)
		}
	}
}

func nothing[In any](context.Context, *sdk.Request[In]) (string, error) { return "", nil }
