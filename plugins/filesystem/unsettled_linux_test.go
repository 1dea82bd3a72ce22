package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unsettledVariable makes this program a process whose disk takes files, and fails when it is to keep a directory.
const unsettledVariable = "PICOCLAW_TEST_UNSETTLED"

// A change that is made, and perhaps not on the disk, is not said to be none, and can be taken back.
func TestAChangeThatMayNotBeOnTheDiskIsSaidToBeMade(t *testing.T) {
	if os.Getenv(unsettledVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAChangeThatMayNotBeOnTheDiskIsSaidToBeMade$", "-test.v")
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
	failDirectories(t)
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

// failDirectories has the kernel refuse to sync the directory of a change, which is opened next, or after the
// descriptors of the record for undo; its file comes later.
func failDirectories(t *testing.T) {
	t.Helper()
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	fd := uint32(next.Fd())
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	refuse(t, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the lower half of its first argument
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: fd, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: fd + 3, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSPC)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}
