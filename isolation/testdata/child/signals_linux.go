package main

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalParent tries all ways to send the threads of the parent a signal, and prints those that work. The signal is 0,
// which is not delivered.
func signalParent([]string) error {
	parent := os.Getppid()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
	if err != nil || len(threads) < 2 {
		return fmt.Errorf("%d threads: %v", len(threads), err)
	}
	for _, entry := range threads {
		thread, _ := strconv.Atoi(entry.Name())
		for way, errno := range signalWays(parent, thread) {
			if errno == 0 {
				fmt.Println("thread", thread, "is reached by", way)
			}
		}
	}
	var pipe [2]int
	_ = unix.Pipe(pipe[:])
	for _, signal := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGABRT, unix.SIGSEGV, 32, 33, 34} {
		if _, err := unix.FcntlInt(uintptr(pipe[0]), unix.F_SETSIG, int(signal)); err == nil {
			fmt.Println("signal", int(signal), "can be sent about a file")
		}
	}
	return nil
}

func signalWays(parent, thread int) map[string]unix.Errno {
	call := func(number uintptr, args ...uintptr) unix.Errno {
		args = append(args, 0, 0, 0)
		_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], 0, 0)
		return errno
	}
	info := make([]int32, 32) // siginfo_t
	info[2] = -1              // SI_QUEUE
	queued := uintptr(unsafe.Pointer(&info[0]))
	dir, _ := unix.Open(fmt.Sprintf("/proc/%d", thread), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	defer func() { _ = unix.Close(dir) }()
	pidfd, _ := unix.PidfdOpen(thread, unix.PIDFD_THREAD)
	t := uintptr(thread)
	return map[string]unix.Errno{
		"kill": call(unix.SYS_KILL, t), "tkill": call(unix.SYS_TKILL, t), "tgkill": call(unix.SYS_TGKILL, uintptr(parent), t),
		"rt_sigqueueinfo": call(unix.SYS_RT_SIGQUEUEINFO, t, 0, queued), "rt_tgsigqueueinfo": call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(parent), t, 0, queued),
		"a directory in /proc": call(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(dir)), "a pidfd": call(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(pidfd)),
	}
}
