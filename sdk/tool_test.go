package sdk_test

import (
	"context"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type page struct {
	Content string `json:"content"`
}

// What an agent reads of a typed result is the JSON text itself: a page of HTML in it has to look like one.
func TestAnAgentReadsTypedResultsAsTheyAre(t *testing.T) {
	plugin := sdk.Plugin{ID: "pages", Version: "1.0.0", Doc: "Has pages.", Tools: []sdk.Tool{
		sdk.NewTool("page", "A page.", func(context.Context, *sdk.Request[struct{}]) (page, error) {
			return page{"<b>bold & \"quoted\"</b>"}, nil
		}, sdk.Traits{}),
	}}
	sdktest.Run(t, plugin, sdktest.Case{
		Tool:     "page",
		Want:     `{"content":"<b>bold & \"quoted\"</b>"}`,
		WantJSON: page{"<b>bold & \"quoted\"</b>"},
	})
}
