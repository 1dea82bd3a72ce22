package isolation

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sandboxFlags are the walls that every sandbox has.
var sandboxFlags = []string{
	"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	"--disable-userns", "--cap-drop", "ALL",
	"--new-session", "--die-with-parent",
}

// arguments collects what bubblewrap is told, and the descriptors that go with
// it. They are handed over in a file, because a command line can be read by
// everybody on the machine.
type arguments struct {
	words []string
	files []*os.File // passed at firstFD and up
	first int        // the number that files[0] gets in bubblewrap
}

func (a *arguments) add(words ...string) { a.words = append(a.words, words...) }

// pass hands file over and returns its number there.
func (a *arguments) pass(file *os.File) string {
	a.files = append(a.files, file)
	return strconv.Itoa(a.first + len(a.files) - 1)
}

// data hands content over in a file that exists only in memory.
func (a *arguments) data(name string, content []byte) (string, error) {
	file, err := memoryFile(name, content)
	if err != nil {
		return "", err
	}
	return a.pass(file), nil
}

// close closes what was handed over, after the start or instead of it.
func (a *arguments) close() {
	for _, f := range a.files {
		f.Close()
	}
}

func (a *arguments) mount(m mount) error {
	switch m.kind {
	case bindRO, bindRW, symlink:
		a.add("--"+string(m.kind), m.source, m.target)
	case bindData:
		fd, err := a.data("file", m.data)
		if err != nil {
			return err
		}
		a.add("--perms", "0444", "--"+string(m.kind), fd, m.target)
	case copied:
		source, err := os.Open(m.source)
		if err != nil {
			return err
		}
		a.add("--perms", "0444", "--"+string(m.kind), a.pass(source), m.target)
	case tmpfs:
		a.add("--size", strconv.Itoa(scratchBytes), "--"+string(m.kind), m.target)
	default:
		a.add("--"+string(m.kind), m.target)
	}
	return nil
}

// environment sets env inside. Bubblewrap itself is started without any, so
// that /proc/1/environ is empty.
func (a *arguments) environment(env []string) error {
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("the environment entry %q is not NAME=value", name)
		}
		a.add("--setenv", name, value)
	}
	return nil
}

// memoryFile returns an unlinked file in memory with content, to be read from
// its start.
func memoryFile(name string, content []byte) (*os.File, error) {
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
