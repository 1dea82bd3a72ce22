package isolation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// Start starts the program that cmd names, with p's rights. Of cmd it takes
// Path, Args, Env, Dir, Stdin, Stdout, Stderr, ExtraFiles and SysProcAttr, and
// leaves it as it is. A nil Env is an empty environment, never this
// process's. The standard streams must be *os.File or nil, which means the
// null device.
func (i *Isolation) Start(cmd *exec.Cmd, p Profile) (*Process, error) {
	child, p, err := i.child(cmd, p)
	if err != nil {
		return nil, err
	}
	i.starting.RLock()
	defer i.starting.RUnlock()
	if i.closed {
		return nil, ErrClosed
	}
	if p.Notice != nil && (!p.Confine || i.cfg.Enabled) {
		_ = p.Notice(mutation.Mutation{Err: errors.New("the command is not confined by itself")})
		p.Notice = nil
	}
	if p.Proxied != nil && !i.cfg.Enabled {
		return nil, &ProfileError{Profile: p.Name, Problem: "has a network by name, which only a sandbox keeps it to",
			Cure: "set isolation.enabled to true, or do without network.allow"}
	}
	proc, err := i.platform.start(child, p)
	if err != nil {
		return nil, err
	}
	i.remember(proc)
	return proc, nil
}

// remember keeps p in the set of running processes until it ends.
func (i *Isolation) remember(p *Process) {
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

// Run starts cmd as Start does and waits for it. When ctx is done it kills the
// whole tree and returns ctx's error. A program that fails is an *ExitError.
func (i *Isolation) Run(ctx context.Context, cmd *exec.Cmd, p Profile) error {
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

// PrepareCommand rewrites cmd so that starting it starts it in the sandbox of
// p. It is for callers who must start it themselves; Start is the better way,
// because it also ties the child's life to this process and ends its whole
// tree. A confined profile cannot be prepared, only started.
func (i *Isolation) PrepareCommand(cmd *exec.Cmd, p Profile) error {
	child, p, err := i.child(cmd, p)
	if err != nil {
		return err
	}
	return i.platform.prepare(cmd, child, p)
}

// child checks what the caller gave and returns it in full: a command of its
// own, with an environment and open standard streams.
func (i *Isolation) child(cmd *exec.Cmd, p Profile) (*exec.Cmd, Profile, error) {
	p, err := p.normal()
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
	if err := i.streams(child, cmd); err != nil {
		return nil, p, err
	}
	if p.UserEnv {
		if i.layout.home == "" {
			return nil, p, &ProfileError{Profile: p.Name, Problem: "wants a user environment, and there is no instance root",
				Cure: "set PICOCLAW_HOME"}
		}
		if err := i.layout.prepareUserEnv(p.UserEnvID); err != nil {
			return nil, p, err
		}
		child.Env = i.layout.redirect(child.Env, p.UserEnvID)
		p.ReadWrite = append(p.ReadWrite, i.layout.userEnv(p.UserEnvID))
	}
	if i.layout.home != "" {
		p.Hide = append(p.Hide, i.layout.home)
	}
	return child, p, nil
}

// streams fills in the standard streams. A stream that is not a file would
// need a goroutine that copies, and waiting for the child would then wait for
// everybody who holds the other end.
func (i *Isolation) streams(child, cmd *exec.Cmd) error {
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
