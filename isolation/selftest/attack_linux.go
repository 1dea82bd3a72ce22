package selftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// handed is the one descriptor besides the standard streams that the command is given: a directory outside its view.
const handed = 3

// Possible reports whether there are attacks for this system.
const Possible = true

// Attack tries to get out of the sandbox that this process is in, and writes a Result for each wall, one JSON value a
// line. It changes nothing but what it was given to attack. The arguments are those that Check has added to the
// command.
func Attack(args []string, out io.Writer) error {
	var at targets
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &at) != nil || !filepath.IsAbs(at.Outside) {
		return errors.New("this is how picoclaw tests its own sandbox; it is of no use by itself")
	}
	tries := map[string]func(targets) string{
		"files":            files,
		"system":           system,
		"open directories": throughOpenDirectory,
		"descriptors":      descriptors,
		"environments":     environments,
		"processes":        processes,
		"capabilities":     capabilities,
		"user namespaces":  userNamespaces,
		"system calls":     systemCalls,
		"network":          func(at targets) string { return dial("tcp", at.TCP) },
		"abstract sockets": func(at targets) string { return dial("unix", at.Abstract) },
		"virtual sockets":  virtualSockets,
	}
	answers := json.NewEncoder(out)
	for _, p := range Protections {
		if err := answers.Encode(Result{Protection: p.Name, Got: tries[p.Name](at)}); err != nil {
			return err
		}
	}
	return nil
}

func files(at targets) string {
	if _, err := os.ReadFile(filepath.Join(at.Outside, canary)); err == nil {
		return "a file was read"
	}
	if err := os.WriteFile(filepath.Join(at.Outside, "written"), nil, 0o600); err == nil {
		return "a file was written"
	}
	return ""
}

func system(targets) string {
	file, err := os.CreateTemp("/usr", ".picoclaw-selftest-*")
	if err != nil {
		return ""
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	return "a file was written to /usr"
}

func throughOpenDirectory(targets) string {
	fd, err := unix.Openat(handed, canary, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	_ = unix.Close(fd)
	return "a file outside was opened"
}

func descriptors(targets) string {
	const most = 1024
	for fd := handed + 1; fd < most; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return fmt.Sprintf("descriptor %d is open", fd)
		}
	}
	return ""
}

func environments(at targets) string {
	own := strconv.Itoa(os.Getpid())
	for _, pid := range []string{"1", strconv.Itoa(at.Host)} {
		if data, err := os.ReadFile("/proc/" + pid + "/environ"); pid != own && err == nil &&
			len(bytes.Trim(data, "\x00")) > 0 {
			return "the environment of process " + pid + " was read"
		}
	}
	return ""
}

// processes is careful about process ids: inside, the host's may be somebody else's.
func processes(at targets) string {
	if host, ok := proctable.Read(at.Host); ok && host.Started == at.Started && unix.Kill(at.Host, 0) == nil {
		return "the host can be signalled"
	}
	return ""
}

// fileCapabilities are no way out: they are about whose files these are, not about which can be seen.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

func capabilities(targets) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "" // it can't be told, and nothing was got
	}
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			if caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64); err == nil && caps&^fileCapabilities != 0 {
				return fmt.Sprintf("capabilities, %d of them", bits.OnesCount64(caps))
			}
		}
	}
	return ""
}

// userNamespaces starts a program that does not exist in a new one: only if there is one, that is what is wrong.
func userNamespaces(targets) string {
	_, err := os.StartProcess("/no-program", []string{"no-program"},
		&os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if errors.Is(err, unix.ENOENT) {
		return "a user namespace"
	}
	return ""
}

// systemCalls makes calls with arguments that the kernel finds wrong. Its error tells whether the call got that far.
func systemCalls(targets) string {
	const nothing = ^uintptr(0)
	for _, call := range []struct {
		name   string
		number uintptr
	}{
		{"add_key", unix.SYS_ADD_KEY}, {"bpf", unix.SYS_BPF}, {"userfaultfd", unix.SYS_USERFAULTFD},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP}, {"open_tree", unix.SYS_OPEN_TREE}, {"setns", unix.SYS_SETNS},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV},
	} {
		_, _, errno := unix.RawSyscall6(call.number, nothing, nothing, nothing, 1, nothing, nothing)
		if errno != unix.EPERM && errno != unix.ENOSYS {
			return call.name + " reaches the kernel"
		}
	}
	return ""
}

func virtualSockets(targets) string {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	_ = unix.Close(fd)
	return "a virtual socket"
}

func dial(network, address string) string {
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return ""
	}
	_ = conn.Close()
	return "a connection to " + address
}
