package main

import (
	"context"
	"fmt"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
)

type execInput struct {
	Command    string            `json:"command" jsonschema:"The shell command to run." claim:"command"`
	Cwd        string            `json:"cwd,omitempty" jsonschema:"The directory to run it in, inside the workspace. Defaults to the workspace." claim:"cwd"`
	Timeout    int               `json:"timeout,omitempty" jsonschema:"Seconds after which the command is ended. Defaults to the configured maximum; without, a background command has no limit." minimum:"1"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add." claim:"env"`
	Stdin      string            `json:"stdin,omitempty" jsonschema:"Text that the command reads."`
	Background bool              `json:"background,omitempty" jsonschema:"Return at once and let it run; process reads from it, writes to it and ends it." default:"false"`
	PTY        bool              `json:"pty,omitempty" jsonschema:"Give it a terminal, for programs that want one." default:"false"`
}

type execOutput struct {
	ExitCode  int    `json:"exit_code"`
	Signal    string `json:"signal,omitempty"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated int64  `json:"truncated_bytes,omitempty" jsonschema:"What is missing in the middle of the output."`
	Whole     string `json:"whole_output,omitempty" jsonschema:"File with all of the output, when some is missing here."`
	Millis    int64  `json:"duration_ms"`
	Session   string `json:"session,omitempty" jsonschema:"The name of a background command, for process."`

	combined string
}

// Text is what a terminal would have shown.
func (o execOutput) Text() string { return o.combined }

func execTool(l *isolation.Isolation, s *sessions) sdk.Tool {
	return sdk.NewTool("exec", "Run a shell command in the workspace and return its output.",
		func(ctx context.Context, req *sdk.Request[execInput]) (execOutput, error) {
			if req.Args.Background {
				return background(l, s, req)
			}
			return run(ctx, l, req)
		},
		sdk.Destructive(), sdk.OpenWorld(), sdk.Sets("picoclaw"),
		sdk.Permissions("exec"), sdk.Risk("high"), sdk.SideEffects("process"))
}

// endGrace is how long the processes of a command have between SIGTERM and SIGKILL.
const endGrace = 2 * time.Second

// run runs a command to its end.
func run(ctx context.Context, l *isolation.Isolation, req *sdk.Request[execInput]) (execOutput, error) {
	r, err := start(l, &req.Environment, wanted{
		execInput: req.Args, stdout: req.Stdout, stderr: req.Stderr,
	})
	if err != nil {
		return execOutput{}, err
	}
	defer r.close()
	limit := timeout(req.Exec.Timeout, req.Args.Timeout)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var ended error
	select {
	case <-r.process.Done():
	case <-timer.C:
		ended = sdk.Errorf(sdk.Timeout, "command timed out after %s", limit).
			WithHint("ask for a longer timeout, up to tools.exec.timeout_seconds, run it in parts, or in the background")
	case <-ctx.Done():
		ended = sdk.Errorf(sdk.Cancelled, "the command was cancelled")
	}
	if ended != nil {
		_, _ = r.process.Stop(context.WithoutCancel(ctx), endGrace)
	}
	exit, err := r.process.Wait(context.WithoutCancel(ctx))
	if err != nil && ended == nil {
		return execOutput{}, fmt.Errorf("wait for the command: %w", err)
	}
	r.finished()
	out := execOutput{
		Stdout: r.stream[0].String(), Stderr: r.stream[1].String(), Truncated: r.all.missing(), combined: r.all.String(),
		Millis: time.Since(r.began).Milliseconds(), ExitCode: exit.Code,
	}
	if exit.Signal != nil {
		out.Signal = exit.Signal.String()
	}
	if out.Truncated > 0 {
		out.keepWhole(req, r)
	}
	if ended == nil && !exit.Success() {
		ended = &sdk.Error{Code: "exit_status", Message: exit.String()}
	}
	return out, ended
}

// timeout is what the call asks for, up to what the operator allows.
func timeout(configured time.Duration, asked int) time.Duration {
	if configured <= 0 {
		configured = time.Minute
	}
	if limit := time.Duration(asked) * time.Second; asked > 0 && limit < configured {
		return limit
	}
	return configured
}
