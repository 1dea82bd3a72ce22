package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unsettledVariable makes this program a process whose disk takes files, and fails when it is to keep a directory.
const unsettledVariable = "PICOCLAW_TEST_UNSETTLED"

// A change that is made, and perhaps not on the disk, is not said to be none, and can be taken back.
func TestUnsyncedChangeIsReportedAsMade(t *testing.T) {
	if os.Getenv(unsettledVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnsyncedChangeIsReportedAsMade$", "-test.v")
		cmd.Env = append(os.Environ(), unsettledVariable+"=1", "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := start(t, map[string]string{"f": "old", "g": "old", "d/x": "x"})
	must(t, p, "write_file", args{"path": "f", "content": "older"}) // what is opened once is open now
	before := snapshot(t, p)
	failDirectories(t, p.Dir)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "f", "content": "new"}},
		{"edit_file", args{"edits": []args{
			{"path": "f", "old_text": "old", "new_text": "new"}, {"path": "g", "old_text": "old", "new_text": "new"},
		}}},
		{"append_file", args{"path": "f", "content": "more"}},
		{"rm", args{"path": "f"}},
		{"rm", args{"path": "d", "recursive": true}},
		{"mv", args{"source": "f", "destination": "h"}},
		{"cp", args{"source": "f", "destination": "h"}},
	} {
		r := p.Call(c.tool, c.args)
		said := r.Err.GetMessage() + r.Err.GetHint()
		if !strings.Contains(said, "is made, but it may not be on the disk: ") || strings.Contains(said, "nothing") {
			t.Errorf("%s: %q, %v", c.tool, r.Text, r.Err)
		}
		if slices.Equal(snapshot(t, p), before) {
			t.Errorf("%s has changed nothing", c.tool)
		}
		p.Call("undo", args{}) // which may meet the same
		if now := snapshot(t, p); !slices.Equal(now, before) {
			t.Fatalf("after %s and undo there is\n%q, not\n%q", c.tool, now, before)
		}
	}
}

// failDirectories has the kernel refuse to sync each directory below dir, and nothing else.
func failDirectories(t *testing.T, dir string) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	listener := installFilter(t, filter, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH)
	go func() {
		for {
			var call struct { // struct seccomp_notif
				id         uint64
				pid, flags uint32
				number     int32
				arch       uint32
				at         uint64
				args       [6]uint64
			}
			if ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)) != 0 {
				continue // interrupted
			}
			answer := struct { // struct seccomp_notif_resp
				id    uint64
				value int64
				errno int32
				flags uint32
			}{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			if directoryBelow(int(call.args[0]), dir) {
				answer.errno, answer.flags = -int32(unix.ENOSPC), 0
			}
			ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
		}
	}()
}

func ioctl(fd uintptr, request uintptr, with unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(with))
	return errno
}

func directoryBelow(fd int, dir string) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err == nil && (path == dir || strings.HasPrefix(path, dir+"/"))
}
