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
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Main runs the supervisor until the program has ended. It reports errors to the host before it returns them.
func Main() error {
	socket, err := wire.MessageConnFromFile(os.NewFile(wire.SocketFD, "host"))
	if err != nil {
		return err
	}
	s := &supervisor{socket: socket}
	if err = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err == nil { // so that the program can't read this memory
		_, err = s.socket.Receive(&s.start)
	}
	if err == nil {
		err = s.runProgram()
	}
	if err != nil {
		_ = s.socket.Send(wire.SupervisorEvent{Failed: err.Error()}, nil)
	}
	return err
}

type supervisor struct {
	socket  wire.MessageConn
	start   wire.StartMessage
	process *isolation.Process
	hooks   hookRelay
	bursts  *burstRecorder // nil without undo
	monitor *workspace.ProtectionEnforcer
}

func (s *supervisor) runProgram() error {
	policy := s.start.Policy
	iso, err := isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
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
	if err = errors.Join(isolation.LimitSelf(profile.Limits), iso.ApplyChildFilterToSelf(profile)); err != nil {
		return err
	}
	out := wire.RunOutcome{}
	finish, err := s.watchChanges(iso, files, &profile, &out)
	if err != nil {
		return err
	}
	if err = s.hooks.listenHooks(s); err == nil {
		defer func() { _ = s.hooks.listener.Close() }()
		err = s.startProgram(iso, files, profile)
	}
	if err != nil {
		finish()
		return err
	}
	go s.handleHostMessages()
	exit, err := s.process.Wait(context.Background())
	finish()
	if err != nil {
		return err
	}
	out.Code, out.Exceeded = shellExitCode(exit), exit.Exceeded
	return s.socket.Send(wire.SupervisorEvent{Ended: &out}, nil)
}

// shellExitCode converts an exit status to a shell's exit code.
func shellExitCode(exit isolation.ExitStatus) int {
	if signal, ok := exit.Signal.(syscall.Signal); ok {
		return 128 + int(signal)
	}
	return exit.Code
}

// watchChanges sets up the check for protected files and the undo recording of a program's changes. finish ends both,
// and writes the results to out.
func (s *supervisor) watchChanges(iso *isolation.Starter, files *workspace.Workspace, profile *isolation.Profile, out *wire.RunOutcome) (finish func(), err error) {
	if !profile.Confine {
		out.NoHistory = "agents.defaults.restrict_to_workspace is off"
		return func() {}, nil
	}
	ask := func(path string) { _ = s.socket.Send(wire.SupervisorEvent{Ask: path}, nil) }
	options := workspace.EnforcerOptions{Background: true, SharedGit: s.start.SharedGit, Ask: ask}
	if s.start.Policy.Undo.Dir != "" {
		store, err := undo.Open(s.start.Policy.Undo)
		if err != nil {
			return nil, err
		}
		s.bursts = newBurstRecorder(store, files, s.start.Summary, iso.BetweenChanges)
		options.Next = s.bursts.BeforeChange
	} else {
		out.NoHistory = "tools.undo.enabled is off, or the program could write to its own history"
	}
	s.monitor = files.NewChangeMonitor(options)
	if s.bursts != nil {
		s.bursts.ending = s.monitor.RestoreHarmfulFiles
	}
	profile.Notice = s.monitor.BeforeChange
	return func() {
		protected := s.monitor.FinishMonitor()
		out.Refused, out.Found = protected.Reasons, protected.Found
		if s.bursts != nil {
			out.Changes = s.bursts.endRecording()
		}
	}, nil
}

// startProgram starts the program, on a terminal if the host requests one, and informs the host.
func (s *supervisor) startProgram(iso *isolation.Starter, files *workspace.Workspace, profile isolation.Profile) error {
	dir, err := files.OpenDir(s.start.Dir)
	if err != nil {
		return fmt.Errorf("open the current directory: %w", err)
	}
	defer func() { _ = dir.Close() }()
	settings := s.start.Policy.Exec
	cmd := osexec.Command(s.start.Program[0], s.start.Program[1:]...)
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	cmd.Env = exec.BuildEnvironment(settings.Env, s.start.Env, slices.Concat(settings.ReadOnly, settings.ReadWrite))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var control *os.File
	if s.start.Terminal != nil {
		var done func()
		control, done, err = s.openProgramTerminal(cmd)
		defer done()
		if err != nil {
			return err
		}
	}
	if s.process, err = iso.Start(cmd, profile); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(s.start.Program[0]), err)
	}
	return s.socket.Send(wire.SupervisorEvent{Started: true}, control)
}

// openProgramTerminal creates a terminal for cmd, and changes cmd to run through RunInit for job control. done closes
// the program's end of the terminal in this process.
func (s *supervisor) openProgramTerminal(cmd *osexec.Cmd) (control *os.File, done func(), err error) {
	control, terminal, err := pty.OpenPTY(*s.start.Terminal)
	if err != nil {
		return nil, func() {}, err
	}
	ours, theirs, err := wire.NewSocketPair()
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
	cmd.Args = slices.Concat([]string{self, Command, fmt.Sprint(first)}, []string{cmd.Path}, cmd.Args[1:])
	cmd.Path, cmd.Err = self, nil
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setctty: true, Ctty: first}
	go s.reportStops(ours)
	return control, done, nil
}

// reportStops tells the host whenever the program stops.
func (s *supervisor) reportStops(init wire.MessageConn) {
	for {
		var stopped wire.SupervisorEvent
		if _, err := init.Receive(&stopped); err != nil {
			return
		}
		_ = s.socket.Send(stopped, nil)
	}
}

// handleHostMessages executes the host's messages. It kills the program if the host ends.
func (s *supervisor) handleHostMessages() {
	for {
		var c wire.ControlMessage
		if _, err := s.socket.Receive(&c); err != nil {
			s.process.Kill()
			return
		}
		if c.Hook != nil {
			s.hooks.deliverAnswer(c.Hook)
		}
		if c.Signal != 0 {
			_ = s.process.Signal(syscall.Signal(c.Signal))
		}
		if c.Approve != "" {
			s.monitor.ApprovePath(c.Approve, time.Now().Add(wire.ApprovalTime))
		}
		if c.Continue {
			_ = s.process.Signal(syscall.SIGCONT)
		}
	}
}

var errNoProgram = errors.New("there is no program to run")
