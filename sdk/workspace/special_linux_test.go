package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Nothing that is not a regular file is opened, nobody waits for it, and nobody else is held up by it.
func TestSpecialFileFailsAtOnce(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "normal"), "answer")
	if err := unix.Mkfifo(filepath.Join(g.w, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(g.w, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	names := []string{"fifo", "s", "."}
	if os.Getuid() == 0 {
		if err := unix.Mknod(filepath.Join(g.w, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
			t.Fatal(err)
		}
		names = append(names, "zero")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range names {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if _, err := g.ReadFile(name); !errors.Is(err, NotRegular) {
						t.Errorf("read %s: %v", name, err)
					}
				})
			}
			wg.Wait()
			if err := g.WriteFile(name, []byte("x")); !errors.Is(err, NotRegular) {
				t.Errorf("write %s: %v", name, err)
			}
		}
		if data, err := g.ReadFile("normal"); err != nil || string(data) != "answer" {
			t.Errorf("a normal read afterwards: %q, %v", data, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("something waits for a special file")
	}
}

// A hard link is a file of the workspace's with another name outside: reading it can't be told from reading any file;
// writing severs the link, and the other name keeps what it had.
func TestWriteKeepsOtherHardLink(t *testing.T) {
	g := newGround(t)
	if err := os.Link(g.o, filepath.Join(g.w, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteFile("hard", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	g.untouched("writing a hard link")
}

func TestModesAreKept(t *testing.T) {
	g := newGround(t)
	script := filepath.Join(g.w, "script")
	g.put(script, "#!/bin/sh\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteFile("script", []byte("#!/bin/bash\n")); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteFile("a/b/new", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"script": 0o755, "a/b/new": 0o600, "a": 0o700, "a/b": 0o700} {
		info, err := os.Stat(filepath.Join(g.w, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v (%v); want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestWriteKeepsOwnerAndAttributes(t *testing.T) {
	g := newGround(t)
	path := filepath.Join(g.w, "f")
	g.put(path, "old")
	if err := unix.Setxattr(path, "user.note", []byte("mine"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 1234, 5678); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o664); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.WriteFile("f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.note", value)
	if err != nil || string(value[:n]) != "mine" {
		t.Errorf("the attribute is %q, %v", value[:max(n, 0)], err)
	}
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if was.Uid != is.Uid || was.Gid != is.Gid || before.Mode() != after.Mode() {
		t.Errorf("%d:%d %v became %d:%d %v", was.Uid, was.Gid, before.Mode(), is.Uid, is.Gid, after.Mode())
	}
}

func TestParallelUpdatesOfOneFileAllSurvive(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "log"), "")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := g.UpdateFile("log", func(old []byte, _ bool) ([]byte, error) { return append(old, '.'), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := g.contents(filepath.Join(g.w, "log")); len(got) != 20 {
		t.Errorf("%d of 20 updates survived", len(got))
	}
	entries, err := os.ReadDir(g.w)
	if err != nil || len(entries) != 1 {
		t.Errorf("litter: %v, %v", entries, err)
	}
}

func TestFailedEditChangesNoFile(t *testing.T) {
	g := newGround(t)
	g.put(filepath.Join(g.w, "a"), "old")
	no := errors.New("no")
	if err := g.UpdateFile("a", func([]byte, bool) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	if got := g.contents(filepath.Join(g.w, "a")); got != "old" {
		t.Errorf("the file has %q in it", got)
	}
}

func TestWorkspaceMustBeDirectory(t *testing.T) {
	g := newGround(t)
	for _, dir := range []string{"", "relative", g.o, filepath.Join(g.w, "missing")} {
		if _, err := OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, Options{}); err == nil {
			t.Errorf("%q is taken for a workspace", dir)
		}
	}
}
