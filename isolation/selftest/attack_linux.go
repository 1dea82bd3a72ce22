package selftest

import (
	"bytes"
	"crypto/rand"
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

// passedFD is the only extra descriptor of the attacking command: a directory outside its view.
const passedFD = 3

// IsSupported reports whether this operating system has attacks to run.
const IsSupported = true

// RunAttacks tries to escape from this process's sandbox, and writes one AttackResult per protection as a line of
// JSON. RunSelfTest provides the arguments, which name the files and addresses to attack.
func RunAttacks(args []string, out io.Writer) error {
	var at attackTargets
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &at) != nil || !filepath.IsAbs(at.Outside) {
		return errors.New("picoclaw uses this command to test its sandbox")
	}
	tries := map[string]func(attackTargets) string{
		"files":            attackFiles,
		"system":           attackSystemDirs,
		"open directories": attackOpenDirectory,
		"descriptors":      attackDescriptors,
		"environments":     attackEnvironments,
		"processes":        attackProcesses,
		"capabilities":     attackCapabilities,
		"user namespaces":  attackUserNamespaces,
		"system calls":     attackSystemCalls,
		"network":          func(at attackTargets) string { return attackSocket("tcp", at.TCP) },
		"abstract sockets": func(at attackTargets) string { return attackSocket("unix", at.Abstract) },
		"virtual sockets":  attackVirtualSockets,
	}
	answers := json.NewEncoder(out)
	for _, p := range Protections {
		if err := answers.Encode(AttackResult{Protection: p.Name, Got: tries[p.Name](at)}); err != nil {
			return err
		}
	}
	return nil
}

func attackFiles(at attackTargets) string {
	if _, err := os.ReadFile(filepath.Join(at.Outside, canary)); err == nil {
		return "a file was read"
	}
	if err := os.WriteFile(filepath.Join(at.Outside, "written"), nil, 0o600); err == nil {
		return "a file was written"
	}
	return ""
}

func attackSystemDirs(attackTargets) string {
	file, err := os.CreateTemp("/usr", ".picoclaw-selftest-*")
	if err != nil {
		return ""
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	return "a file was written to /usr"
}

func attackOpenDirectory(attackTargets) string {
	fd, err := unix.Openat(passedFD, canary, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	_ = unix.Close(fd)
	return "a file outside was opened"
}

func attackDescriptors(attackTargets) string {
	const most = 1024
	for fd := passedFD + 1; fd < most; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return fmt.Sprintf("descriptor %d is open", fd)
		}
	}
	return ""
}

func attackEnvironments(at attackTargets) string {
	own := strconv.Itoa(os.Getpid())
	for _, pid := range []string{"1", strconv.Itoa(at.Host)} {
		if data, err := os.ReadFile("/proc/" + pid + "/environ"); pid != own && err == nil &&
			len(bytes.Trim(data, "\x00")) > 0 {
			return "the environment of process " + pid + " was read"
		}
	}
	return ""
}

// attackProcesses tries to signal the host, if its start time shows that the id is not another process's.
func attackProcesses(at attackTargets) string {
	if host, ok := proctable.Read(at.Host); ok && host.Started == at.Started && unix.Kill(at.Host, 0) == nil {
		return "the host can be signalled"
	}
	return ""
}

// fileCapabilities are capabilities that let a process access files of any owner, but no files outside its view.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

func attackCapabilities(attackTargets) string {
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

// attackUserNamespaces starts a missing program in a new namespace. ENOENT means that the namespace was created.
func attackUserNamespaces(attackTargets) string {
	_, err := os.StartProcess("/no-program", []string{"no-program"},
		&os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if errors.Is(err, unix.ENOENT) {
		return "a user namespace"
	}
	return ""
}

// attackSystemCalls makes system calls with invalid arguments. The error shows whether the kernel executed them.
func attackSystemCalls(attackTargets) string {
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

func attackVirtualSockets(attackTargets) string {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	_ = unix.Close(fd)
	return "a virtual socket"
}

func attackSocket(network, address string) string {
	conn, err := net.DialTimeout(network, address, selfTestTimeout)
	if err != nil {
		return ""
	}
	_ = conn.Close()
	return "a connection to " + address
}

// attackTargets are the objects that attacks try to reach. All are created for the test, except the host process.
type attackTargets struct {
	Outside  string `json:"outside"`  // a directory that is not granted, with a canary
	Host     int    `json:"host"`     // the process id of the host
	Started  int64  `json:"started"`  // when it was started: another process may have its id inside
	TCP      string `json:"tcp"`      // the address of a server
	Abstract string `json:"abstract"` // and of one without a path
}

// canary is the name of a file that no process in the sandbox may see.
const canary = "canary"

// createAttackTargets creates the attack targets below dir. done closes their sockets.
func createAttackTargets(dir string) (at attackTargets, done func(), err error) {
	host, _ := proctable.Read(os.Getpid())
	at = attackTargets{Outside: filepath.Join(dir, "outside"), Host: host.PID, Started: host.Started}
	if err = os.Mkdir(at.Outside, 0o700); err != nil {
		return at, nil, err
	}
	if err = os.WriteFile(filepath.Join(at.Outside, canary), []byte("canary"), 0o600); err != nil {
		return at, nil, err
	}
	abstract, err := net.Listen("unix", "@picoclaw-selftest-"+rand.Text())
	if err != nil {
		return at, nil, fmt.Errorf("listen on an abstract socket: %w", err)
	}
	at.Abstract = abstract.Addr().String()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return at, nil, errors.Join(fmt.Errorf("listen on the loopback interface: %w", err), abstract.Close())
	}
	at.TCP = tcp.Addr().String()
	return at, func() { _ = tcp.Close(); _ = abstract.Close() }, nil
}
