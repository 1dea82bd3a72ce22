package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// attack tries something, and says what it got. What begins with "no:" came to nothing.
func attack(what, at, with string) string {
	got, err := tried(what, at, with)
	if err != nil {
		return "no: " + err.Error()
	}
	return got
}

func tried(what, at, with string) (string, error) {
	switch what {
	case "selftest":
		var out bytes.Buffer
		err := selftest.RunAttacks([]string{at}, &out)
		return out.String(), err
	case "selftest as a child":
		out, err := exec.Command("/proc/self/exe", "attack", at).Output()
		return string(out), err
	case "read":
		text, err := os.ReadFile(at)
		return "read " + string(text), err
	case "list":
		entries, err := os.ReadDir(at)
		return fmt.Sprint("listed ", entries), err
	case "write":
		return "written", os.WriteFile(at, []byte(with), 0o600)
	case "append":
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(with)
		}
		return "written", err
	case "remove":
		return "removed", os.RemoveAll(at)
	case "fifo": // where others write
		_ = os.Remove(at)
		return "made", unix.Mkfifo(at, 0o600)
	case "link":
		_ = os.Remove(at)
		return "made", os.Symlink(with, at)
	case "dial":
		conn, err := net.DialTimeout("tcp", at, 5*time.Second)
		if err == nil { // the answer comes after picoclaw has reported a refusal
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
		return "connected", err
	case "run":
		out, err := exec.Command("/bin/sh", "-c", at).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return "ran " + string(out), nil
	case "environments":
		return environments(), nil
	case "find": // a file, wherever it may be
		return find(at)
	case "kill":
		return kill()
	case "trace":
		return trace(os.Getppid())
	case "daemon":
		return daemon()
	case "fork":
		return fork()
	case "memory":
		return memory()
	}
	return "", fmt.Errorf("there is no attack %q", what)
}

// environments are all that can be read, its own among them.
func environments() string {
	all := strings.Join(os.Environ(), "\n")
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all += "\n" + strings.ReplaceAll(string(text), "\x00", "\n")
	}
	return all
}

// find looks for files whose names have a text in them, everywhere but in what is the kernel's.
func find(name string) (string, error) {
	var found []string
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (path == "/proc" || path == "/sys" || path == "/usr") {
			return fs.SkipDir
		}
		if err == nil && strings.Contains(d.Name(), name) {
			found = append(found, path)
		}
		return nil
	})
	if len(found) == 0 {
		return "", errors.New("nothing is found")
	}
	return strings.Join(found, "\n"), nil
}

// kill looks for a process that it may signal and that is not its own.
func kill() (string, error) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err == nil && pid != os.Getpid() && unix.Kill(pid, 0) == nil {
			return fmt.Sprintf("process %d can be signalled", pid), nil
		}
	}
	return "", errors.New("there is nobody to signal")
}

// trace tries to get into another process.
func trace(pid int) (string, error) {
	runtime.LockOSThread()
	if err := syscall.PtraceAttach(pid); err == nil {
		return "it is traced", nil
	}
	if err := unix.PtraceSeize(pid); err == nil {
		return "it is traced", nil
	}
	for _, name := range []string{"mem", "environ", "fd/0", "root/etc", "cwd/."} {
		if f, err := os.OpenFile(filepath.Join("/proc", strconv.Itoa(pid), name), os.O_RDONLY, 0); err == nil {
			_ = f.Close()
			return name + " was opened", nil
		}
	}
	local, remote := make([]byte, 8), unix.RemoteIovec{Base: 0x400000, Len: 8}
	iov := unix.Iovec{Base: &local[0]}
	iov.SetLen(8)
	if _, err := unix.ProcessVMReadv(pid, []unix.Iovec{iov}, []unix.RemoteIovec{remote}, 0); err == nil {
		return "its memory was read", nil
	}
	return "", errors.New("it can't be traced")
}

// daemon starts a process that is nobody's child and that ignores what it is asked.
func daemon() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP TERM INT; setsid "$0" stay evil-daemon </dev/null >/dev/null 2>&1 & echo started`, exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	return string(out), err
}

// fork starts processes until it can't, and ends them.
func fork() (string, error) {
	const most = 3000
	var all []*exec.Cmd
	var refused error
	for range most {
		cmd := exec.Command("/proc/self/exe", "stay")
		if refused = cmd.Start(); refused != nil {
			break
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if refused != nil {
		return "", fmt.Errorf("after some processes: %w", refused)
	}
	return fmt.Sprintf("%d processes", most), nil
}

// memory takes what it gets.
func memory() (string, error) {
	const piece, most = 64 << 20, 8 << 30
	for size := 0; size < most; size += piece {
		data, err := unix.Mmap(-1, 0, piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			return "", err
		}
		_ = data
	}
	return "8 GB", nil
}
