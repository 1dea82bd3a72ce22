package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/command"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// shellPlugin is the state of the plugin that its tools share.
type shellPlugin struct {
	launcher *isolation.Starter
	// holdSelf applies the limits and filters that commands inherit to this process; nil for none.
	holdSelf func(isolation.Profile) error
	sessions sessions.Registry

	held   sync.Once
	failed error // of holdSelf
	warned sync.Once

	opening  sync.Once
	store    *undo.Store // nil without an undo store
	unopened error       // why the store can't be opened
}

// commandRun is a running command, with its outcome when it has ended.
type commandRun struct {
	*command.RunningCommand
	sessions.WorkspaceEffects // set when the command has ended
}

// shutdown stops all commands and waits until their changes are recorded.
func (s *shellPlugin) shutdown(ctx context.Context) {
	s.sessions.BeginShutdown()
	_ = s.launcher.Close()
	for _, session := range s.sessions.ListSessions() { // until their changes are recorded
		select {
		case <-session.Running.Done():
		case <-ctx.Done():
		}
	}
	if s.store != nil {
		s.store.Close()
	}
}

// monitorFileChanges starts to record a command's changes for undo, and to protect files from the command. end completes
// both.
func (s *shellPlugin) monitorFileChanges(req *sdk.Request[execInput], profile *isolation.Profile, run *commandRun) (end func(),
	err error) {
	if !req.Exec.Confine || req.Grants.Workspace != sdk.WorkspaceAccess { // the kernel reports no changes of it
		return func() {}, nil
	}
	s.opening.Do(func() {
		if req.Takeback.Dir != "" {
			s.store, s.unopened = undo.Open(req.Takeback)
		}
	})
	if s.unopened != nil || s.store == nil && !req.Workspace.HasProtectedFiles() {
		return func() {}, s.unopened
	}
	options := workspace.EnforcerOptions{Approved: req.IsApproved(), Paths: req.Args.ProtectedPaths, Background: req.Args.Background}
	var recorder *undo.Recorder
	if s.store != nil {
		recorder = s.store.NewRecorder(req.Workspace, undo.RecordOptions{
			Tool: "exec", Summary: "exec: " + clipCommand(req.Args.Command), Observe: true,
		})
		options.Next = recorder.BeforeChange
	}
	monitor := req.Workspace.NewChangeMonitor(options)
	profile.Notice = monitor.BeforeChange
	return func() {
		run.Protected = monitor.FinishMonitor()
		if recorder != nil {
			run.Changes = recorder.End()
		}
		if run.Protected.GitRefused && run.Changes.ID != "" {
			// Git would leave partial work.
			done, err := s.store.Undo(context.Background(), req.Workspace, undo.UndoRequest{ID: run.Changes.ID})
			run.Undone, run.UndoError = &done, err
		}
	}, nil
}

// clipCommand returns the beginning of a command on one line.
func clipCommand(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// startCommand starts the command of a call.
func (s *shellPlugin) startCommand(req *sdk.Request[execInput], out func(int, []byte)) (*commandRun, error) {
	env, in := req.Environment, req.Args
	profile := isolation.Profile{
		Name:      "exec",
		Exec:      true,
		Network:   env.Grants.Network,
		Confine:   env.Exec.Confine,
		Nested:    env.Exec.Sandboxed,
		ReadOnly:  env.Exec.ReadOnly,
		ReadWrite: env.Exec.ReadWrite,
		Limits:    env.Exec.Limits,
	}
	if s.held.Do(func() {
		if s.holdSelf != nil {
			s.failed = s.holdSelf(profile)
		}
	}); s.failed != nil {
		return nil, s.failed
	}
	pinned, err := guard.FindShell()
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "%v", err)
	}
	dir, err := env.Workspace.OpenDir(cmp.Or(in.Cwd, "."))
	if err != nil {
		return nil, explainDirError(env.Workspace, in.Cwd, err)
	}
	defer func() { _ = dir.Close() }()
	visible := slices.Concat(env.Exec.ReadOnly, env.Exec.ReadWrite)
	run := &commandRun{}
	end, err := s.monitorFileChanges(req, &profile, run)
	if err != nil {
		return nil, err
	}
	run.RunningCommand, err = command.StartCommand(s.launcher, profile, command.CommandSpec{
		Shell:  slices.Concat([]string{pinned.Path}, pinned.Args, []string{in.Command}),
		Dir:    dir,
		Env:    commandEnvironment(env.Exec, in.Env, visible, in.PTY),
		Stdin:  in.Stdin != "" || in.Background,
		PTY:    in.terminalSize(),
		Output: out,
		Ended:  end,
	})
	if err != nil {
		end()
		return nil, err
	}
	return run, nil
}

// explainDirError returns an error with the reason why a command can't run in a directory.
func explainDirError(w *workspace.Workspace, cwd string, err error) error {
	const elsewhere = "make the directory first, or leave cwd out to run in the workspace"
	if errors.Is(err, fs.ErrNotExist) {
		return sdk.Errorf(sdk.NotFound, "cwd: there is no directory %q", cwd).WithHint(elsewhere)
	}
	if info, statErr := w.Stat(cwd); statErr == nil && !info.IsDir() {
		return sdk.Errorf(sdk.InvalidArgument, "cwd: %q is not a directory", cwd).WithHint(elsewhere)
	}
	return fmt.Errorf("cwd: %w", err)
}

// guardOnlyNote is the note in the first result if only the guard restricts commands.
const guardOnlyNote = "note: this machine has neither a sandbox nor Landlock, so only the guard protects it; " +
	"the guard uses its strict profile, and background commands take no input"

// noSandboxNoteOnce returns guardOnlyNote in the first call that needs it, and then an empty string.
func (s *shellPlugin) noSandboxNoteOnce(env sdk.Environment) (text string) {
	if env.Exec.Unwalled {
		s.warned.Do(func() { text = guardOnlyNote })
	}
	return text
}
