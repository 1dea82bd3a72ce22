package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Main runs the supervisor until the program has ended. An error has been reported to the host.
func Main() error {
	socket, err := wire.FromFile(os.NewFile(wire.SocketFD, "host"))
	if err != nil {
		return err
	}
	s := &supervisor{socket: socket}
	if _, err = s.socket.Receive(&s.start); err == nil {
		err = s.runProgram()
	}
	if err != nil {
		_ = s.socket.Send(wire.Event{Failed: err.Error()}, nil)
	}
	return err
}

type supervisor struct {
	socket  wire.Conn
	start   wire.Start
	process *isolation.Process
	hooks   hookServer
}

func (s *supervisor) runProgram() error {
	policy := s.start.Policy
	iso, err := isolation.Configure(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		return err
	}
	defer func() { _ = iso.Close() }()
	files, err := workspace.OpenWorkspace(policy.Guard, workspace.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	profile := isolation.Profile{
		Name:      s.start.Program[0],
		Exec:      true,
		Network:   policy.Grants.Network,
		Nested:    policy.Exec.Sandboxed,
		Confine:   policy.Exec.Confine,
		ReadOnly:  policy.Exec.ReadOnly,
		ReadWrite: policy.Exec.ReadWrite,
		Limits:    policy.Exec.Limits,
	}
	// What this process is held to itself, its children need not be held to one by one.
	if err = errors.Join(isolation.LimitSelf(profile.Limits), iso.FilterSelf(profile)); err != nil {
		return err
	}
	out := wire.Ended{}
	finish, err := s.watchChanges(files, &profile, &out)
	if err != nil {
		return err
	}
	if err = s.hooks.listen(s); err == nil {
		defer s.hooks.close()
		err = s.startProgram(iso, files, profile)
	}
	if err != nil {
		finish()
		return err
	}
	go s.followHost()
	exit, err := s.process.Wait(context.Background())
	finish()
	if err != nil {
		return err
	}
	out.Code, out.Exceeded = exitCode(exit), exit.Exceeded
	return s.socket.Send(wire.Event{Ended: &out}, nil)
}

// exitCode returns a shell's exit code for an exit.
func exitCode(exit isolation.ExitStatus) int {
	if signal, ok := exit.Signal.(syscall.Signal); ok {
		return 128 + int(signal)
	}
	return exit.Code
}

// watchChanges has changes checked and recorded. finish completes both, and writes the outcome down.
func (s *supervisor) watchChanges(files *workspace.Workspace, profile *isolation.Profile, out *wire.Ended) (finish func(), err error) {
	if !profile.Confine {
		out.NoHistory = "agents.defaults.restrict_to_workspace is off"
		return func() {}, nil
	}
	options := workspace.MonitorOptions{Background: true}
	var recorder *undo.Recorder
	var store *undo.Store
	if s.start.Policy.Undo.Dir != "" {
		if store, err = undo.Open(s.start.Policy.Undo); err != nil {
			return nil, err
		}
		recorder = store.NewRecorder(files, undo.RecordOptions{Tool: "run", Summary: s.start.Summary, Observe: true})
		options.Next = recorder.Notice
	} else {
		out.NoHistory = "tools.undo.enabled is off, or the program could write to its own history"
	}
	monitor := files.MonitorChanges(options)
	profile.Notice = monitor.Notice
	return func() {
		protected := monitor.FinishMonitor()
		out.Refused, out.Found = protected.Reasons, protected.Found
		if recorder != nil {
			out.Changes = recorder.End()
			store.Close()
		}
	}, nil
}

// startProgram starts the program, on a terminal if one is wanted, and tells the host.
func (s *supervisor) startProgram(iso *isolation.Isolation, files *workspace.Workspace, profile isolation.Profile) error {
	dir, err := files.OpenDir(s.start.Dir)
	if err != nil {
		return fmt.Errorf("open the current directory: %w", err)
	}
	defer func() { _ = dir.Close() }()
	settings := s.start.Policy.Exec
	cmd := osexec.Command(s.start.Program[0], s.start.Program[1:]...)
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	cmd.Env = exec.Environment(settings.Env, s.start.Env, slices.Concat(settings.ReadOnly, settings.ReadWrite))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var control *os.File
	if s.start.Terminal != nil {
		var done func()
		control, done, err = s.useTerminal(cmd)
		defer done()
		if err != nil {
			return err
		}
	}
	if s.process, err = iso.Start(cmd, profile); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(s.start.Program[0]), err)
	}
	return s.socket.Send(wire.Event{Started: true}, control)
}

// useTerminal makes a terminal for a command, and has this program be its parent there, for job control. done closes what
// the command has then.
func (s *supervisor) useTerminal(cmd *osexec.Cmd) (control *os.File, done func(), err error) {
	control, terminal, err := pty.OpenPTY(*s.start.Terminal)
	if err != nil {
		return nil, func() {}, err
	}
	ours, theirs, err := wire.Pair()
	done = func() { _, _, _ = control.Close(), terminal.Close(), theirs.Close() }
	if err != nil {
		return nil, func() { _, _ = control.Close(), terminal.Close() }, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, done, err
	}
	first := -1
	for stream, to := range s.start.Streams {
		if !to {
			continue
		}
		if first < 0 {
			first = stream
		}
		switch stream {
		case 0:
			cmd.Stdin = terminal
		case 1:
			cmd.Stdout = terminal
		case 2:
			cmd.Stderr = terminal
		}
	}
	cmd.Args = slices.Concat([]string{self, InitCommand, fmt.Sprint(first)}, []string{cmd.Path}, cmd.Args[1:])
	cmd.Path, cmd.Err = self, nil
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setctty: true, Ctty: first}
	go s.followInit(ours)
	return control, done, nil
}

// followInit tells the host when the program stops.
func (s *supervisor) followInit(init wire.Conn) {
	for {
		var stopped wire.Event
		if _, err := init.Receive(&stopped); err != nil {
			return
		}
		_ = s.socket.Send(stopped, nil)
	}
}

// followHost carries out what the host asks for, and ends the program with the host.
func (s *supervisor) followHost() {
	for {
		var c wire.Control
		if _, err := s.socket.Receive(&c); err != nil {
			s.process.Kill()
			return
		}
		if c.Hook != nil {
			s.hooks.answer(c.Hook)
		}
		if c.Signal != 0 {
			_ = s.process.Signal(syscall.Signal(c.Signal))
		}
		if c.Continue {
			_ = s.process.Signal(syscall.SIGCONT)
		}
	}
}

var errNoProgram = errors.New("there is no program to run")
