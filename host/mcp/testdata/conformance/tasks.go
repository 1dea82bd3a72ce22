package main

import (
	"context"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
)

type duration struct {
	Seconds float64 `json:"seconds" jsonschema:"duration"`
	Label   string  `json:"label,omitempty" jsonschema:"label without effect"`
}

type person struct {
	Name string `json:"name" jsonschema:"name of the person"`
}

type file struct {
	Filename string `json:"filename,omitempty" jsonschema:"name without effect"`
}

// taskTools are the tools that the suite calls as tasks.
func taskTools() []sdk.Tool {
	long := sdk.Traits{ReadOnly: true, LongRunning: true}
	return []sdk.Tool{
		sdk.NewTool("greet", "Greets a person.", func(_ context.Context, req *sdk.Request[person]) (string, error) {
			return "Hello, " + req.Args.Name + "!", nil
		}, sdk.Traits{ReadOnly: true}),
		sdk.NewTool("slow_compute", "Takes its time.", func(ctx context.Context, req *sdk.Request[duration]) (string, error) {
			return "It is computed.", sleep(ctx, time.Duration(req.Args.Seconds*float64(time.Second)))
		}, long),
		sdk.NewTool("failing_job", "Fails after a second.", func(ctx context.Context, _ *sdk.Request[none]) (string, error) {
			_ = sleep(ctx, time.Second)
			return "", sdk.Errorf("failed", "This job fails")
		}, long),
		sdk.NewTool("protocol_error_job", "Asks for roots, which the suite does not have.",
			func(ctx context.Context, req *sdk.Request[none]) (string, error) {
				return askClient(ctx, req, sdk.Question{Name: "client_roots", Roots: true})
			}, long),
		sdk.NewTool("confirm_delete", "Asks for confirmation.", func(ctx context.Context, req *sdk.Request[file]) (string, error) {
			return ask(ctx, req, "Is it right?", `{"type":"object","properties":{"confirm":{"type":"boolean"}}}`)
		}, long),
		sdk.NewTool("multi_input", "Asks two questions.", func(ctx context.Context, req *sdk.Request[none]) (string, error) {
			return askClient(ctx, req, question("name", "Your name?", "name"), question("color", "Your color?", "color"))
		}, long),
		sdk.NewTool("test_tool_with_task", "Asks, then takes its time.", func(ctx context.Context, req *sdk.Request[none]) (string, error) {
			text, err := askClient(ctx, req, question("user_name", "Your name?", "name"))
			if err == nil {
				err = sleep(ctx, 6*time.Second)
			}
			return text, err
		}, sdk.Traits{ReadOnly: true}),
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
