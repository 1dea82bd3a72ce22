package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quotaVariable says how the disk quota of this process is used up.
const quotaVariable = "PICOCLAW_TEST_QUOTA"

// With the disk quota used up, a change fails and says why, everything is as it was, and nothing lies beside it. The
// quota is one of btrfs where that can be had; and everywhere a kernel that finds out only when data is to be on the
// disk.
func TestDiskQuotaLosesNoData(t *testing.T) {
	switch kind, dir, _ := strings.Cut(os.Getenv(quotaVariable), ":"); kind {
	case "btrfs":
		t.Setenv("TMPDIR", limitedDisk(t, dir))
		overQuota(t, func(dir string) { fill(t, dir) })
		return
	case "fsync":
		overQuota(t, func(string) { refuseToSync(t) })
		return
	}
	again := func(name string, flags uintptr) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestDiskQuotaLosesNoData$")
			cmd.Env = append(os.Environ(), quotaVariable+"="+name+":"+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	again("fsync", 0)
	if known, err := os.ReadFile("/proc/filesystems"); err == nil && os.Getuid() == 0 && bytes.Contains(known,
		[]byte("\tbtrfs\n")) {
		again("btrfs", unix.CLONE_NEWNS) // with which the mount ends
	}
}

func overQuota(t *testing.T, useUp func(dir string)) {
	old := strings.Repeat("old line\n", 30_000)
	p := start(t, map[string]string{"f": old, "g": old, "gone/h": old, "tree/a": old, "tree/b": "b"})
	must(t, p, "rm", args{"path": "gone", "recursive": true})
	must(t, p, "write_file", args{"path": "g", "content": old + "last\n"})
	useUp(p.Dir)
	before := everything(t, p.Dir)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "f", "content": old + "more"}},
		{"write_file", args{"path": "made/deep/n", "content": old}},
		{"write", args{"path": "f", "content": old + "more"}},
		{"append_file", args{"path": "f", "content": old}},
		{"insert", args{"path": "f", "line": 1, "content": old}},
		{"edit_file", args{"path": "g", "old_text": "last", "new_text": "first"}},
		{"edit", args{"path": "g", "old_string": "last", "new_string": "first"}},
		{"edit_file", args{"edits": []args{
			{"path": "g", "old_text": "last", "new_text": "first"}, {"path": "tree/b", "old_text": "b", "new_text": old},
		}}},
		{"cp", args{"source": "f", "destination": "copy"}},
		{"cp", args{"source": "tree", "destination": "copy"}},
		{"cp", args{"source": "f", "destination": "g", "overwrite": true}},
		{"undo", args{}},
	} {
		r := p.Call(c.tool, c.args)
		if !strings.Contains(r.Err.GetMessage(), "quota") || !strings.Contains(r.Err.GetHint(), "quota") {
			t.Errorf("%s: %q, %v", c.tool, r.Text, r.Err)
		}
		if after := everything(t, p.Dir); !maps.Equal(after, before) {
			t.Fatalf("after %s, %v there is other than before:\n%v\n%v", c.tool, r.Err, names(after), names(before))
		}
	}
}

// everything is what is in a directory: names, and the contents of files.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "ballast" {
			var data []byte
			data, err = os.ReadFile(name)
			all[name] = string(data)
		} else {
			all[name] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func names(all map[string]string) []string {
	var list []string
	for name, data := range all {
		list = append(list, fmt.Sprintf("%s (%d)", name, len(data)))
	}
	return list
}

// limitedDisk makes a small disk with a quota in a directory, for this process only.
func limitedDisk(t *testing.T, dir string) string {
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	volume := filepath.Join(mount, "volume")
	if err := errors.Join(os.Mkdir(mount, 0o755), os.WriteFile(image, nil, 0o600), os.Truncate(image, 256<<20),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"mkfs.btrfs", "-q", image},
		{"mount", "-o", "loop", image, mount},
		{"btrfs", "quota", "enable", mount},
		{"btrfs", "subvolume", "create", volume},
		{"btrfs", "qgroup", "limit", "16M", volume},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return volume
}

// fill uses a quota up.
func fill(t *testing.T, dir string) {
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	block := bytes.Repeat([]byte("ballast\n"), 512)
	for range 32 << 20 / len(block) {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EDQUOT) {
		t.Fatalf("the quota is not used up by 32 MiB: %v", err)
	}
}

// refuseToSync has the kernel answer every fsync and syncfs of this process with an exceeded quota, as file systems do
// that take data first and look for room later.
func refuseToSync(t *testing.T) {
	failed := installFilter(t, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SYNCFS, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EDQUOT)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}, 0)
	if failed != 0 {
		t.Fatalf("seccomp: thread %d has another filter", failed)
	}
}

// installFilter has the kernel ask a filter about every system call of this process, and returns what seccomp returns.
func installFilter(t *testing.T, filter []unix.SockFilter, flags uintptr) uintptr {
	t.Helper()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	// TSYNC takes the threads that are there along, which must be without other filters and have no new privileges too.
	value, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC|flags,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Fatalf("seccomp: %v", errno)
	}
	return value
}
