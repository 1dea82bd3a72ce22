package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// running is a command that was started.
type running struct {
	*capture
	process *isolation.Process
	began   time.Time
	input   *os.File // what is written to it; nil if it has no input
	pty     bool
}

// wanted says what to start, and how.
type wanted struct {
	execInput
	input          bool // it can be written to later
	stdout, stderr func([]byte)
}

// The size of a terminal that nobody has resized.
const (
	terminalRows = 24
	terminalCols = 80
)

// start starts a command in a directory that is opened once, and used by that handle: what its name comes to mean
// afterwards has no say.
func start(l *isolation.Isolation, env *sdk.Environment, w wanted) (*running, error) {
	if w.Cwd == "" {
		w.Cwd = "."
	}
	dir, err := env.Workspace.OpenDir(w.Cwd)
	if err != nil {
		return nil, fmt.Errorf("cwd: %w", err)
	}
	defer func() { _ = dir.Close() }()
	cmd, err := shell(w.Command)
	if err != nil {
		return nil, err
	}
	cmd.Dir = handlePath(dir)
	cmd.Env = environment(env.Exec.Env, w.Env)
	s, err := newSpool(w.input)
	if err != nil {
		return nil, err
	}
	r := &running{capture: &capture{spool: s, pass: [2]func([]byte){w.stdout, w.stderr}}, pty: w.PTY, began: time.Now()}
	theirs, err := r.connect(cmd, w)
	if err == nil {
		r.process, err = l.Start(cmd, isolation.Profile{Name: "exec", Exec: true, Network: true})
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("start the command: %w", err)
	}
	r.feed(w)
	return r, nil
}

// connect gives the command its streams and returns its ends of them, which are closed once it has them.
func (r *running) connect(cmd *exec.Cmd, w wanted) (theirs []*os.File, err error) {
	if w.PTY {
		ours, terminal, err := openTerminal(terminalRows, terminalCols)
		if err != nil {
			return nil, err
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = terminal, terminal, terminal, onTerminal()
		cmd.Env = append(cmd.Env, "TERM=xterm-256color")
		r.input = ours
		r.follow(ours, 0)
		return []*os.File{terminal}, nil
	}
	pipe := func() (read, write *os.File) {
		if err == nil {
			read, write, err = os.Pipe()
		}
		return read, write
	}
	out, outWrite := pipe()
	errors, errorsWrite := pipe()
	var in *os.File
	if w.input || w.Stdin != "" {
		in, r.input = pipe()
	}
	theirs = slices.DeleteFunc([]*os.File{outWrite, errorsWrite, in}, func(f *os.File) bool { return f == nil })
	if err != nil {
		return theirs, fmt.Errorf("make pipes: %w", err)
	}
	cmd.Stdout, cmd.Stderr = outWrite, errorsWrite
	if in != nil {
		cmd.Stdin = in
	}
	r.follow(out, 0)
	r.follow(errors, 1)
	return theirs, nil
}

// feed writes what the command is to read first. It does not wait for the command to read it.
func (r *running) feed(w wanted) {
	if r.input == nil || (w.Stdin == "" && w.input) {
		return
	}
	go func() {
		_, _ = r.input.WriteString(w.Stdin)
		if !w.input && !w.PTY {
			_ = r.input.Close()
		}
	}()
}

// finished waits for the output of a command that has ended and lets go of its input.
func (r *running) finished() {
	r.wait()
	if r.input != nil && !r.pty {
		if err := r.input.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return
		}
	}
}

// shell runs a command by the one shell that the guard has judged it for.
func shell(command string) (*exec.Cmd, error) {
	pinned, err := guard.MachineShell()
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "%v", err)
	}
	return exec.Command(pinned.Path, append(slices.Clone(pinned.Args), command)...), nil
}
