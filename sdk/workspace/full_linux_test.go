package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// fullVariable makes this program a process that has a small disk of its own to fill.
const fullVariable = "PICOCLAW_TEST_FULL"

// Within and between file systems, on a full disk, and on one that can't be written to, a change fails and the old
// file stays whole, with nothing beside it.
func TestFullDiskKeepsOldFile(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// fillDisk is what the process with the small disk does.
func fillDisk(dir string) error {
	if err := unix.Mount("small", dir, "tmpfs", 0, "size=128k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	w, err := OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(moveBetween(w, dir), removeAround(w, dir)); err != nil {
		return err
	}
	old := bytes.Repeat([]byte("old\n"), 4<<10)
	if err := w.WriteFile("f", old); err != nil {
		return err
	}
	if err := w.WriteFile("g", old); err != nil {
		return err
	}
	replacing := func(path string, data []byte) FileChange {
		return FileChange{Path: path, Parents: true, Change: func(*OldFile) ([]byte, error) { return data, nil }}
	}
	long := bytes.Repeat([]byte("new\n"), 64<<10)
	changes := map[string]func() error{
		"one file":      func() error { return w.WriteFile("f", long) },
		"a new file":    func() error { return w.WriteFile("made/n", long) },
		"several files": func() error { return w.ApplyChanges(nil, replacing("f", []byte("new")), replacing("g", long)) },
		"a copy":        func() error { return w.CopyTree("f", "h", TransferOptions{}) },
	}
	for _, state := range []struct {
		name  string
		ready func() error
		want  error
	}{
		{"full", func() error { return fill128k(dir) }, syscall.ENOSPC},
		{"read-only", func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") }, syscall.EROFS},
	} {
		if err := state.ready(); err != nil {
			return fmt.Errorf("%s: %w", state.name, err)
		}
		for name, change := range changes {
			if err := change(); !errors.Is(err, state.want) {
				return fmt.Errorf("%s on a disk that is %s: %w", name, state.name, err)
			}
			for _, f := range []string{"f", "g"} {
				if data, err := os.ReadFile(filepath.Join(dir, f)); err != nil || !bytes.Equal(data, old) {
					return fmt.Errorf("after %s on a disk that is %s, %s has %d bytes: %w", name, state.name, f, len(data), err)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
				return fmt.Errorf("after %s on a disk that is %s there are %v: %w", name, state.name, entries, err)
			}
		}
	}
	return nil
}

// removeAround deletes a directory in which something can't be deleted: it is gone, and the error says where the rest
// is.
func removeAround(w *Workspace, dir string) error {
	kept := filepath.Join(dir, "tree", "kept")
	if err := errors.Join(os.MkdirAll(kept, 0o755), unix.Mount("kept", kept, "tmpfs", 0, "")); err != nil {
		return err
	}
	left := w.RemoveTree(context.Background(), "tree", true, nil)
	if !errors.Is(left, Leftover) {
		return fmt.Errorf("what can't be deleted was deleted: %w", left)
	}
	if _, err := os.Lstat(filepath.Join(dir, "tree")); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("a part of what was to be deleted is still there: %w", err)
	}
	_, where, _ := strings.Cut(left.Error(), "that is in ")
	where, _, _ = strings.Cut(where, " now: ")
	rest := filepath.Join(dir, where)
	return errors.Join(unix.Unmount(filepath.Join(rest, "kept"), 0), os.RemoveAll(rest))
}

// fill128k leaves room for less than what is copied.
func fill128k(dir string) error {
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		return err
	}
	block := make([]byte, 4<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.Close()
}

// moveBetween moves a tree from one file system to another and back.
func moveBetween(w *Workspace, dir string) error {
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(other, 0o755), unix.Mount("other", other, "tmpfs", 0, "size=64k")); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "tree", "sub"), 0o750), w.WriteFile("tree/sub/f", []byte("f")),
		os.Symlink("sub/f", filepath.Join(dir, "tree", "link"))); err != nil {
		return err
	}
	if err := w.MoveTree("tree", "other/tree", TransferOptions{}); err != nil {
		return err
	}
	if data, err := os.ReadFile(filepath.Join(other, "tree", "link")); err != nil || string(data) != "f" {
		return fmt.Errorf("moved to another file system, the file is %q: %w", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "tree")); err == nil {
		return errors.New("what was moved to another file system is still there")
	}
	if err := w.MoveTree("other/tree/sub/f", "f", TransferOptions{}); err != nil {
		return err
	}
	return errors.Join(unix.Unmount(other, 0), os.Remove(other), w.RemoveTree(context.Background(), "f", false, nil))
}
