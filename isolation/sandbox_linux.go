package isolation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
		s.sockets, err = s.wrapInNetworkLauncher(pl.bwrap, p)
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

// sandboxFlags are bubblewrap's flags for the namespaces and capabilities of every sandbox.
var sandboxFlags = []string{
	"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	"--disable-userns", "--cap-drop", "ALL",
	"--new-session", "--die-with-parent",
}

// bwrapArguments collects bubblewrap's arguments and file descriptors. bubblewrap reads the arguments from a file,
// since all users can read command lines.
type bwrapArguments struct {
	words   []string
	files   []*os.File // passed at firstFD and up
	firstFD int        // number of files[0] in bubblewrap
}

func (a *bwrapArguments) addWords(words ...string) { a.words = append(a.words, words...) }

// passFile passes a file and returns its descriptor number in the child.
func (a *bwrapArguments) passFile(file *os.File) string {
	a.files = append(a.files, file)
	return strconv.Itoa(a.firstFD + len(a.files) - 1)
}

// passData passes content as a memory file and returns its descriptor number in the child.
func (a *bwrapArguments) passData(name string, content []byte) (string, error) {
	file, err := newMemoryFile(name, content)
	if err != nil {
		return "", err
	}
	return a.passFile(file), nil
}

// closeFiles closes the passed files.
func (a *bwrapArguments) closeFiles() {
	for _, f := range a.files {
		f.Close()
	}
}

func (a *bwrapArguments) addMount(m plannedMount) error {
	switch m.kind {
	case bindRO, bindRW, symlink:
		a.addWords("--"+string(m.kind), m.source, m.target)
	case bindData:
		fd, err := a.passData("file", m.data)
		if err != nil {
			return err
		}
		a.addWords("--perms", "0444", "--"+string(m.kind), fd, m.target)
	case copied:
		source, err := os.Open(m.source)
		if err != nil {
			return err
		}
		a.addWords("--perms", "0444", "--"+string(m.kind), a.passFile(source), m.target)
	case tmpfs:
		a.addWords("--size", strconv.Itoa(scratchBytes), "--"+string(m.kind), m.target)
	default:
		a.addWords("--"+string(m.kind), m.target)
	}
	return nil
}

// setEnvironment sets variables in the sandbox. bubblewrap itself starts without any, so that /proc/1/environ is empty.
func (a *bwrapArguments) setEnvironment(env []string) error {
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("the environment entry %q is not NAME=value", name)
		}
		a.addWords("--setenv", name, value)
	}
	return nil
}

// newMemoryFile returns an unlinked memory file with content, positioned at its start.
func newMemoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("picoclaw-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.Write(content); err != nil {
		file.Close()
		return nil, err
	}
	if _, err := file.Seek(0, 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// firstInherited is the first descriptor after standard error.
const firstInherited = 3

// markCloseOnExec marks all inherited descriptors from firstInherited on close-on-exec. Go marks its own descriptors.
func markCloseOnExec() error {
	err := unix.CloseRange(firstInherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return os.NewSyscallError("close_range", err)
	}
	return markEachCloseOnExec()
}

// markEachCloseOnExec marks descriptors one by one, for kernels without close_range.
func markEachCloseOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= firstInherited {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
