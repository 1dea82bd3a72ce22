package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// sandbox is a command that runs in bubblewrap, before it is started.
type sandbox struct {
	cmd  *exec.Cmd
	args *arguments
	// program is what bubblewrap starts: the command's, or what becomes it.
	program string
	status  *os.File // what bubblewrap says about the sandbox is read here
	sockets *os.File // those of its network come from here; nil for none
	held    []heldMount
}

// newSandbox turns child into the bubblewrap command that runs it in plan's
// mount view.
func (pl *platform) newSandbox(child *exec.Cmd, plan *plan) (*sandbox, error) {
	a := &arguments{first: firstInherited + len(child.ExtraFiles)}
	s := &sandbox{args: a}
	err := s.describe(pl, child, plan)
	if err != nil {
		s.close()
		return nil, err
	}
	if s.held, err = plan.heldMounts(); err != nil {
		s.close()
		return nil, err
	}
	status, report, err := os.Pipe()
	if err != nil {
		s.close()
		return nil, err
	}
	s.status = status
	a.add("--json-status-fd", a.pass(report))
	fd, err := a.data("arguments", []byte(strings.Join(a.words, "\x00")+"\x00"))
	if err != nil {
		s.close()
		return nil, err
	}
	args := append([]string{"bwrap", "--args", fd, "--", s.program}, child.Args[1:]...)
	s.cmd = &exec.Cmd{
		Path: pl.bwrap, Args: args, Env: []string{}, Dir: "/",
		Stdin: child.Stdin, Stdout: child.Stdout, Stderr: child.Stderr,
		ExtraFiles:  append(append([]*os.File{}, child.ExtraFiles...), a.files...),
		SysProcAttr: child.SysProcAttr,
	}
	if p := plan.profile.Proxied; p != nil {
		if s.sockets, err = s.enterNetwork(pl.bwrap, p.Ports); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// describe writes down the whole sandbox as arguments.
func (s *sandbox) describe(pl *platform, child *exec.Cmd, plan *plan) error {
	a := s.args
	a.add(pl.flags...)
	if !plan.profile.Network && plan.profile.Proxied == nil {
		a.add("--unshare-net")
	}
	for _, m := range plan.mounts {
		if err := a.mount(m); err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
	}
	s.program = child.Path
	if image, at := pl.stage(child.Path, plan); image != nil {
		fd, err := a.data("stage", image)
		if err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
		a.add("--perms", "0555", "--ro-bind-data", fd, at)
		s.program = at
	}
	a.add("--remount-ro", "/")
	if calls := pl.filter(filterNeeds{programs: plan.profile.anyProgram(), processes: plan.profile.Exec, internet: true,
		apart: true}); calls != nil {
		fd, err := a.data("filter", calls.bytes())
		if err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
		a.add("--seccomp", fd)
	}
	if err := a.environment(child.Env); err != nil {
		return err
	}
	dir := child.Dir
	if dir == "" {
		dir = "/"
	}
	a.add("--chdir", dir)
	return nil
}

// started closes this process's copies of what the sandbox was handed.
func (s *sandbox) started() { s.args.close() }

// close gives everything up.
func (s *sandbox) close() {
	s.args.close()
	if s.status != nil {
		s.status.Close()
	}
	if s.sockets != nil {
		s.sockets.Close()
	}
}
