package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setID tries, in the working directory, every way to have a file that runs with its owner's rights, and prints those
// that it found.
func setID([]string) error {
	const mode = 0o4755
	made := 0
	name := func() string { made++; return fmt.Sprint("f", made) }
	plain := func() string {
		n := name()
		_ = os.WriteFile(n, nil, 0o700)
		return n
	}
	for way, try := range map[string]func(file string){
		"fchmodat":  func(f string) { _ = unix.Fchmodat(unix.AT_FDCWD, f, mode, 0) },
		"fchmodat2": func(f string) { path(unix.SYS_FCHMODAT2, f, mode, 0) },
		"fchmod": func(f string) {
			if fd, err := unix.Open(f, unix.O_RDONLY, 0); err == nil {
				_ = unix.Fchmod(fd, mode)
			}
		},
		"setgid": func(f string) { _ = unix.Fchmodat(unix.AT_FDCWD, f, 0o2755, 0) },
		"openat": func(f string) {
			_ = unix.Unlink(f)
			_, _ = unix.Openat(unix.AT_FDCWD, f, unix.O_CREAT|unix.O_WRONLY, mode)
		},
		"openat2": func(f string) {
			_ = unix.Unlink(f)
			_, _ = unix.Openat2(unix.AT_FDCWD, f, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: mode})
		},
		"mknodat": func(f string) { _ = unix.Unlink(f); _ = unix.Mknodat(unix.AT_FDCWD, f, unix.S_IFREG|mode, 0) },
		"an unnamed file": func(f string) {
			_ = unix.Unlink(f)
			if fd, err := unix.Openat(unix.AT_FDCWD, ".", unix.O_TMPFILE|unix.O_RDWR, mode); err == nil {
				_ = unix.Linkat(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", fd), unix.AT_FDCWD, f, unix.AT_SYMLINK_FOLLOW)
			}
		},
	} {
		f := plain()
		try(f)
		var stat unix.Stat_t
		if unix.Lstat(f, &stat) == nil && stat.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
			fmt.Println(way)
		}
	}
	// What ordinary programs do goes on.
	f := filepath.Join(".", plain())
	if err := os.Chmod(f, 0o755); err != nil {
		return err
	}
	return os.Mkdir(name(), 0o755)
}

// path makes a call with a path below the working directory.
func path(number uintptr, file string, mode, flags uintptr) {
	name, _ := unix.BytePtrFromString(file)
	cwd := unix.AT_FDCWD
	_, _, _ = unix.Syscall6(number, uintptr(cwd), uintptr(unsafe.Pointer(name)), mode, flags, 0, 0)
}

// limit sets a limit of another process's, after reading one, and its own.
func limit(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_CORE, &now, nil); err != nil {
		return fmt.Errorf("its own: %w", err)
	}
	fmt.Println(outcome(unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{Max: now.Max}, nil)))
	return nil
}

// slow has another process wait for everybody else, after being nice itself.
func slow(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 19); err != nil {
		return fmt.Errorf("its own: %w", err)
	}
	var all unix.CPUSet
	all.Fill()
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		return fmt.Errorf("its own: %w", err)
	}
	fmt.Println(outcome(unix.Setpriority(unix.PRIO_PROCESS, pid, 19)))
	fmt.Println(outcome(unix.SchedSetaffinity(pid, &all)))
	return nil
}

// slowAll sets the usual priorities of its process group and of all processes of its user, after its own.
func slowAll([]string) error {
	for kind := range uintptr(3) {
		for _, err := range []error{raw(unix.SYS_SETPRIORITY, kind, 0, 0), raw(unix.SYS_IOPRIO_SET, kind+1, 0, 0)} {
			fmt.Println(outcome(err))
		}
	}
	return nil
}

// sigio has the kernel send another process the signal that ends it, when a pipe can be read.
func sigio(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_NONBLOCK); err != nil {
		return err
	}
	for command, value := range map[int]int{unix.F_SETOWN: pid, unix.F_SETSIG: int(unix.SIGKILL),
		unix.F_SETFL: unix.O_ASYNC} {
		if _, err := unix.FcntlInt(uintptr(ends[0]), command, value); err != nil {
			return err
		}
	}
	_, err = unix.Write(ends[1], []byte("x"))
	return err
}

// memory makes a program that is no file.
func memory([]string) error {
	_, err := unix.MemfdCreate("program", 0)
	fmt.Println(outcome(err))
	return nil
}

// shared prints what is in a segment of shared memory, by its number.
func shared(args []string) error {
	id, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	memory, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	fmt.Println(unix.ByteSliceToString(memory))
	return nil
}
