package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// swapping exchanges a directory and a link out of the workspace, as fast as it can, until the test ends.
func swapping(t *testing.T, dir string) (outside string) {
	t.Helper()
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "sub"), unix.AT_FDCWD, filepath.Join(dir, "link"),
					unix.RENAME_EXCHANGE)
			}
		}
	})
	t.Cleanup(func() { close(stop); swapper.Wait() })
	return outside
}

// A command runs in the directory that was decided on or not at all, whatever its name comes to mean meanwhile.
func TestCommandRunsInOpenedDirectory(t *testing.T) {
	p := startPlugin(t)
	outside := swapping(t, p.Dir)
	ran := 0
	for range 300 {
		// Not pwd: bash finds that out by the name again.
		if r := p.Call("exec", map[string]any{"command": "touch here", "cwd": "sub"}); r.Err == nil {
			ran++
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("it ran outside: %v %v", entries, err)
	}
	if ran == 0 {
		t.Error("it never ran at all")
	}
}

// By its name, the same directory leads outside between a look and the start.
func TestDirectoryNameCanBeReplaced(t *testing.T) {
	dir := t.TempDir()
	outside := swapping(t, dir)
	for range 20000 {
		name := filepath.Join(dir, "sub")
		if info, err := os.Lstat(name); err != nil || !info.IsDir() {
			continue
		}
		cmd := exec.Command("/bin/pwd", "-P")
		cmd.Dir = name
		if out, err := cmd.Output(); err == nil && strings.HasPrefix(string(out), outside) {
			return
		}
	}
	t.Error("the swapping never won, so nothing was shown above")
}
