package isolation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// Start starts cmd with the rights of p. It uses Path, Args, Env, Dir, Stdin, Stdout, Stderr, ExtraFiles and
// SysProcAttr of cmd, and does not modify cmd. A nil Env is empty, not this process's. The standard streams must be
// *os.File or nil, which means the null device.
func (i *Starter) Start(cmd *exec.Cmd, p Profile) (*Process, error) {
	child, p, err := i.newChildCommand(cmd, p)
	if err != nil {
		return nil, err
	}
	i.starting.RLock()
	defer i.starting.RUnlock()
	if i.closed {
		return nil, ErrClosed
	}
	if p.Notice != nil && (!p.Confine || i.cfg.Enabled) {
		_ = p.Notice(mutation.FileMutation{Err: errors.New("the command is not confined by itself")})
		p.Notice = nil
	}
	if p.Proxied != nil && !i.cfg.Enabled {
		return nil, &ProfileError{Profile: p.Name, Problem: "has a network by name, which only a sandbox can enforce",
			Cure: "set isolation.enabled to true, or do without network.allow"}
	}
	proc, err := i.starter.startChild(child, p)
	if err != nil {
		return nil, err
	}
	i.trackRunning(proc)
	return proc, nil
}

// BetweenChanges runs f while no change that [Profile.Notice] received is under way. Bound sockets are an exception.
func (i *Starter) BetweenChanges(f func()) { i.starter.betweenChanges(f) }

// trackRunning adds p to the processes that Close kills, and removes p when it ends.
func (i *Starter) trackRunning(p *Process) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.processes[p] = struct{}{}
	go func() {
		<-p.done
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.processes, p)
	}()
}

// Run starts cmd like Start and waits for it. When ctx is done it kills all processes and returns ctx's error. If the
// program fails it returns an *ExitError.
func (i *Starter) Run(ctx context.Context, cmd *exec.Cmd, p Profile) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	proc, err := i.Start(cmd, p)
	if err != nil {
		return err
	}
	exit, err := proc.Wait(ctx)
	if ctx.Err() != nil {
		proc.Kill()
		<-proc.Done()
		return ctx.Err()
	}
	if err == nil && !exit.Success() {
		err = &ExitError{Exit: exit}
	}
	return err
}

// WrapCommand rewrites cmd to run in the sandbox of p, for callers that must start it themselves. Prefer Start,
// which also ends the child's processes with this process. Profiles with Confine can't be prepared.
func (i *Starter) WrapCommand(cmd *exec.Cmd, p Profile) error {
	child, p, err := i.newChildCommand(cmd, p)
	if err != nil {
		return err
	}
	return i.starter.wrapCommand(cmd, child, p)
}

// newChildCommand checks cmd and p, and returns a copy of cmd with environment and standard streams.
func (i *Starter) newChildCommand(cmd *exec.Cmd, p Profile) (*exec.Cmd, Profile, error) {
	p, err := p.normalizeProfile()
	if err != nil {
		return nil, p, err
	}
	if cmd.Err != nil {
		return nil, p, cmd.Err
	}
	child := &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir,
		Env:         append([]string{}, cmd.Env...),
		ExtraFiles:  cmd.ExtraFiles,
		SysProcAttr: cmd.SysProcAttr,
	}
	if len(child.Args) == 0 {
		child.Args = []string{child.Path}
	}
	if err := i.setStreams(child, cmd); err != nil {
		return nil, p, err
	}
	if p.UserEnv {
		if i.layout.home == "" {
			return nil, p, &ProfileError{Profile: p.Name, Problem: "needs a user environment, but there is no home",
				Cure: "set PICOCLAW_HOME"}
		}
		if err := i.layout.createUserEnvDirs(p.UserEnvID); err != nil {
			return nil, p, err
		}
		child.Env = i.layout.redirectEnv(child.Env, p.UserEnvID)
		p.userHome = i.layout.userEnvDir(p.UserEnvID)
		p.ReadWrite = append(p.ReadWrite, p.userHome)
		p.temporary = filepath.Join(p.userHome, "tmp")
	}
	if i.layout.home != "" {
		p.Hide = append(p.Hide, i.layout.home)
	}
	return child, p, nil
}

// setStreams sets child's standard streams to cmd's files, or to the null device. It refuses other readers and
// writers: os/exec would copy them in a goroutine, and Wait would block until every process has closed its end.
func (i *Starter) setStreams(child, cmd *exec.Cmd) error {
	for _, s := range []struct {
		name string
		from any
		to   func(*os.File)
	}{
		{"Stdin", cmd.Stdin, func(f *os.File) { child.Stdin = f }},
		{"Stdout", cmd.Stdout, func(f *os.File) { child.Stdout = f }},
		{"Stderr", cmd.Stderr, func(f *os.File) { child.Stderr = f }},
	} {
		switch f := s.from.(type) {
		case nil:
			s.to(i.null)
		case *os.File:
			if f == nil {
				f = i.null
			}
			s.to(f)
		default:
			return fmt.Errorf("start %s: %s is a %T; it must be an *os.File or nil", cmd.Path, s.name, f)
		}
	}
	return nil
}
