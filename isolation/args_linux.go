package isolation

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
