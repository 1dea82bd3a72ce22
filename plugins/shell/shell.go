package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/command"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// shell is what the family's tools share.
type shell struct {
	launcher *isolation.Isolation
	// holdSelf holds this process itself to what its commands inherit; nil where it is not this process's business.
	holdSelf func(isolation.Profile) error
	sessions sessions.Registry

	held   sync.Once
	failed error // of holdSelf
	warned sync.Once

	opening  sync.Once
	store    *undo.Store // nil where nothing is kept of what commands change
	unopened error       // why the store can't be opened
}

// started is a command that was started.
type started struct {
	*command.Running
	sessions.Outcome // of the command, once it is over
}

// stop ends the commands that are left when the plugin ends.
func (s *shell) stop(ctx context.Context) {
	s.sessions.Close()
	_ = s.launcher.Close()
	for _, session := range s.sessions.List() { // until what they have changed is written down
		select {
		case <-session.Running.Over():
		case <-ctx.Done():
		}
	}
	if s.store != nil {
		s.store.Close()
	}
}

// watch has a command kept from what is protected, and what it changes kept. End says what became of both.
func (s *shell) watch(req *sdk.Request[execInput], profile *isolation.Profile, begun *started) (end func(), err error) {
	if !req.Exec.Confine || req.Grants.Workspace != sdk.WorkspaceAccess { // nothing tells of what such a command changes
		return func() {}, nil
	}
	s.opening.Do(func() {
		if req.Takeback.Dir != "" {
			s.store, s.unopened = undo.Open(req.Takeback)
		}
	})
	if s.unopened != nil || s.store == nil && !req.Workspace.HasProtected() {
		return func() {}, s.unopened
	}
	options := workspace.MonitorOptions{Approved: req.Agreed(), Paths: req.Args.ProtectedPaths, Background: req.Args.Background}
	var recorder *undo.Recorder
	if s.store != nil {
		recorder = s.store.Record(req.Workspace, undo.RecordOptions{
			Tool: "exec", Summary: "exec: " + clipped(req.Args.Command), Observe: true,
		})
		options.Next = recorder.Notice
	}
	monitor := req.Workspace.MonitorChanges(options)
	profile.Notice = monitor.Notice
	return func() {
		begun.Protected = monitor.FinishMonitor()
		if recorder != nil {
			begun.Changes = recorder.End()
		}
		if begun.Protected.GitRefused && begun.Changes.ID != "" {
			begun.Undone = s.undoAtOnce(req, begun.Changes.ID)
		}
	}, nil
}

// undoAtOnce undoes a command in which git was refused a change: git would leave half of its work behind.
func (s *shell) undoAtOnce(req *sdk.Request[execInput], id string) *undo.Undone {
	done, err := s.store.Undo(context.Background(), req.Workspace, undo.Request{ID: id})
	if err != nil {
		req.Log.Warn("a command in which git was refused a change could not be undone", "undo", id, "error", err)
		return nil
	}
	return &done
}

// clipped is the beginning of a command, on one line.
func clipped(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// start starts a command for a call.
func (s *shell) start(req *sdk.Request[execInput], out func(int, []byte)) (*started, error) {
	env, in := req.Environment, req.Args
	profile := isolation.Profile{
		Name:      "exec",
		Exec:      true,
		Network:   env.Grants.Network,
		Confine:   env.Exec.Confine,
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
	pinned, err := guard.MachineShell()
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "%v", err)
	}
	dir, err := env.Workspace.OpenDir(orDot(in.Cwd))
	if err != nil {
		return nil, unusable(env.Workspace, in.Cwd, err)
	}
	defer func() { _ = dir.Close() }()
	visible := slices.Concat(env.Exec.ReadOnly, env.Exec.ReadWrite)
	begun := &started{}
	end, err := s.watch(req, &profile, begun)
	if err != nil {
		return nil, err
	}
	begun.Running, err = command.Start(s.launcher, profile, command.Spec{
		Shell:  slices.Concat([]string{pinned.Path}, pinned.Args, []string{in.Command}),
		Dir:    dir,
		Env:    exec.Environment(env.Exec.Env, in.Env, visible),
		Stdin:  in.Stdin != "" || in.Background,
		PTY:    in.size(),
		Output: out,
		Ended:  end,
	})
	if err != nil {
		end()
		return nil, err
	}
	return begun, nil
}

// unusable says why a command can't run in a directory.
func unusable(w *workspace.Workspace, cwd string, err error) error {
	const elsewhere = "make the directory first, or leave cwd out to run in the workspace"
	if errors.Is(err, fs.ErrNotExist) {
		return sdk.Errorf(sdk.NotFound, "cwd: there is no directory %q", cwd).WithHint(elsewhere)
	}
	if info, statErr := w.Stat(cwd); statErr == nil && !info.IsDir() {
		return sdk.Errorf(sdk.InvalidArgument, "cwd: %q is not a directory", cwd).WithHint(elsewhere)
	}
	return errorf("cwd", err)
}

// unwalled is what the first result says where nothing but the guard confines commands.
const unwalled = "note: this machine has neither a sandbox nor Landlock, so only the guard stands between commands and it; " +
	"the guard is in its strict profile, and nothing can be written to commands in the background"

// warning is that note, once.
func (s *shell) warning(env sdk.Environment) (text string) {
	if env.Exec.Unwalled {
		s.warned.Do(func() { text = unwalled })
	}
	return text
}
