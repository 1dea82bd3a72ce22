package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

type execInput struct {
	Command string            `json:"command" jsonschema:"The shell command to run." claim:"command"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"The directory to run it in, inside the workspace. Defaults to the workspace." claim:"cwd"`
	Timeout int               `json:"timeout,omitempty" jsonschema:"Seconds after which the command is ended. Defaults to the configured maximum." minimum:"1"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"Environment variables to add." claim:"env"`
}

type execOutput struct {
	ExitCode  int    `json:"exit_code"`
	Signal    string `json:"signal,omitempty"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated int64  `json:"truncated_bytes,omitempty"` // what is missing in the middle of the output
	Millis    int64  `json:"duration_ms"`

	combined string
}

// Text is what a terminal would have shown.
func (o execOutput) Text() string { return o.combined }

func execTool(l *isolation.Isolation) sdk.Tool {
	return sdk.NewTool("exec", "Run a shell command in the workspace and return its output.",
		func(ctx context.Context, req *sdk.Request[execInput]) (execOutput, error) {
			return run(ctx, l, req)
		},
		sdk.Destructive(), sdk.OpenWorld(), sdk.Sets("picoclaw"),
		sdk.Permissions("exec"), sdk.Risk("high"), sdk.SideEffects("process"))
}

// endGrace is how long the processes of a command have between SIGTERM and SIGKILL.
const endGrace = 2 * time.Second

func run(ctx context.Context, l *isolation.Isolation, req *sdk.Request[execInput]) (execOutput, error) {
	began := time.Now()
	in := req.Args
	if in.Cwd == "" {
		in.Cwd = "."
	}
	dir, err := req.Workspace.OpenDir(in.Cwd)
	if err != nil {
		return execOutput{}, fmt.Errorf("cwd: %w", err)
	}
	defer func() { _ = dir.Close() }()

	capture, err := newCapture(req.Stdout, req.Stderr)
	if err != nil {
		return execOutput{}, err
	}
	defer capture.close()
	cmd, err := shell(in.Command)
	if err != nil {
		return execOutput{}, err
	}
	cmd.Dir = handlePath(dir)
	cmd.Env = environment(req.Exec.Env, in.Env)
	cmd.Stdout, cmd.Stderr = capture.stdout, capture.stderr
	process, err := l.Start(cmd, isolation.Profile{Name: "exec", Exec: true, Network: true})
	if err != nil {
		return execOutput{}, fmt.Errorf("start the command: %w", err)
	}
	capture.started()

	limit := timeout(req.Exec.Timeout, in.Timeout)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var ended error
	select {
	case <-process.Done():
	case <-timer.C:
		ended = sdk.Errorf(sdk.Timeout, "command timed out after %s", limit).
			WithHint("ask for a longer timeout, up to tools.exec.timeout_seconds, or run it in parts")
	case <-ctx.Done():
		ended = sdk.Errorf(sdk.Cancelled, "the command was cancelled")
	}
	if ended != nil {
		_, _ = process.Stop(context.WithoutCancel(ctx), endGrace)
	}
	exit, err := process.Wait(context.WithoutCancel(ctx))
	if err != nil && ended == nil {
		return execOutput{}, fmt.Errorf("wait for the command: %w", err)
	}
	out := capture.output()
	out.Millis = time.Since(began).Milliseconds()
	out.ExitCode = exit.Code
	if exit.Signal != nil {
		out.Signal = exit.Signal.String()
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

// shell runs a command by the one shell that the guard has judged it for.
func shell(command string) (*exec.Cmd, error) {
	pinned, err := guard.MachineShell()
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "%v", err)
	}
	return exec.Command(pinned.Path, append(slices.Clone(pinned.Args), command)...), nil
}

// stopAll ends the commands that are left when the plugin ends.
func stopAll(l *isolation.Isolation) func(context.Context) {
	return func(context.Context) { _ = l.Close() }
}
