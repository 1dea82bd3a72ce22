package isolation

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// bwrapCommand is a bubblewrap command that was not started yet.
type bwrapCommand struct {
	cmd  *exec.Cmd
	args *bwrapArguments
	// program started by bubblewrap
	program string
	status  *os.File // bubblewrap's status output
	sockets *os.File // receives the network's listeners; may be nil
	held    []expectedMount
}

// newBwrapCommand returns the bubblewrap command that runs child in plan's mount view.
func (pl *processStarter) newBwrapCommand(child *exec.Cmd, plan *mountPlan) (s *bwrapCommand, err error) {
	a := &bwrapArguments{firstFD: firstInherited + len(child.ExtraFiles)}
	s = &bwrapCommand{args: a}
	defer func() {
		if err != nil {
			s.closeAllFiles()
		}
	}()
	if err = s.addArguments(pl, child, plan); err != nil {
		return s, err
	}
	if s.held, err = plan.expectedMounts(); err != nil {
		return s, err
	}
	var report *os.File
	if s.status, report, err = os.Pipe(); err != nil {
		return s, err
	}
	a.addWords("--json-status-fd", a.passFile(report))
	fd, err := a.passData("arguments", []byte(strings.Join(a.words, "\x00")+"\x00"))
	if err != nil {
		return s, err
	}
	args := append([]string{"bwrap", "--args", fd, "--", s.program}, child.Args[1:]...)
	s.cmd = &exec.Cmd{
		Path: pl.bwrap, Args: args, Env: []string{}, Dir: "/",
		Stdin: child.Stdin, Stdout: child.Stdout, Stderr: child.Stderr,
		ExtraFiles:  append(append([]*os.File{}, child.ExtraFiles...), a.files...),
		SysProcAttr: child.SysProcAttr,
	}
	if p := plan.profile.Proxied; p != nil {
		s.sockets, err = s.wrapInNetworkLauncher(pl.bwrap, p.Ports)
	}
	return s, err
}

// addArguments adds all arguments of the sandbox.
func (s *bwrapCommand) addArguments(pl *processStarter, child *exec.Cmd, plan *mountPlan) error {
	a := s.args
	a.addWords(pl.flags...)
	if !plan.profile.Network && plan.profile.Proxied == nil {
		a.addWords("--unshare-net")
	}
	for _, m := range plan.mounts {
		if err := a.addMount(m); err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
	}
	s.program = child.Path
	if image, at := pl.planLandlockLauncher(child.Path, plan); image != nil {
		fd, err := a.passData("stage", image)
		if err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
		a.addWords("--perms", "0555", "--ro-bind-data", fd, at)
		s.program = at
	}
	a.addWords("--remount-ro", "/")
	if calls := pl.filter(filterOptions{programs: plan.profile.allowsAnyProgram(), processes: plan.profile.Exec, internet: true,
		ownNamespaces: true}); calls != nil {
		fd, err := a.passData("filter", calls.encodeForBwrap())
		if err != nil {
			return fmt.Errorf("describe the sandbox: %w", err)
		}
		a.addWords("--seccomp", fd)
	}
	if err := a.setEnvironment(plan.shortenTmpDirEnv(child.Env)); err != nil {
		return err
	}
	a.addWords("--chdir", cmp.Or(child.Dir, "/"))
	return nil
}

// closeAllFiles closes all files of the command.
func (s *bwrapCommand) closeAllFiles() {
	s.args.closeFiles()
	if s.status != nil {
		s.status.Close()
	}
	if s.sockets != nil {
		s.sockets.Close()
	}
}
