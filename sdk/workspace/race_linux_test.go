package workspace

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// tries is how often each way is tried while files change under it.
func tries() int {
	if testing.Short() {
		return 2_000
	}
	return 50_000
}

// attacker swaps a directory and a file of the workspace for links to the outside and back, as fast as it can, until
// the test ends or calls stop. renameat2 exchanges them in one step, so there is no moment at which one is missing.
func attacker(t *testing.T, g *ground) (stop func()) {
	t.Helper()
	outside := filepath.Dir(g.o)
	for _, d := range []string{"d", "spare"} {
		if err := os.Mkdir(filepath.Join(g.w, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g.put(filepath.Join(g.w, "d", "secret.txt"), "harmless")
	g.put(filepath.Join(g.w, "f"), "harmless")
	g.link(outside, "dlink")
	g.link(g.o, "flink")
	stopped := make(chan struct{})
	var swapping sync.WaitGroup
	for _, pair := range [][2]string{{"d", "dlink"}, {"f", "flink"}} {
		swapping.Go(func() {
			a, b := filepath.Join(g.w, pair[0]), filepath.Join(g.w, pair[1])
			for {
				select {
				case <-stopped:
					return
				default:
				}
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		})
	}
	stop = sync.OnceFunc(func() { close(stopped); swapping.Wait() })
	t.Cleanup(stop)
	return stop
}

func race(f func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range tries() / 4 {
				f()
			}
		})
	}
	wg.Wait()
}

func TestSwappedPathPreventsReadOutside(t *testing.T) {
	g := newGround(t)
	attacker(t, g)
	var leaks, harmless atomic.Int64
	see := func(data []byte, err error) {
		switch {
		case err == nil && strings.Contains(string(data), secret):
			leaks.Add(1)
		case err == nil:
			harmless.Add(1)
		}
	}
	race(func() {
		see(g.ReadFile("d/secret.txt"))
		see(g.ReadFile("f"))
	})
	if leaks.Load() > 0 || harmless.Load() == 0 {
		t.Errorf("%d leaks and %d harmless reads in %d", leaks.Load(), harmless.Load(), 2*tries())
	}
	t.Logf("%d reads, %d of them of the harmless file", 2*tries(), harmless.Load())
}

func TestSwappedPathPreventsWriteOutside(t *testing.T) {
	g := newGround(t)
	attacker(t, g)
	var wrote atomic.Int64
	race(func() {
		if g.UpdateFile("d/secret.txt", func(old []byte, _ bool) ([]byte, error) {
			if strings.Contains(string(old), secret) {
				t.Error("an update was given the secret")
			}
			return nil, os.ErrInvalid // what is written is not the point; where it would be is
		}) == nil {
			t.Error("the error of a change is lost")
		}
		entries, err := g.ReadDir("d")
		if err == nil && len(entries) == 1 && entries[0].Name() != "secret.txt" {
			t.Errorf("listed %v", entries)
		}
	})
	for i := 0; i < tries()/25 || wrote.Load() == 0 && i < 8*tries(); i++ { // each is synced to disk
		path := "d/secret.txt"
		if i%2 == 1 {
			path = "f"
		}
		if g.WriteFile(path, []byte("mine")) == nil {
			wrote.Add(1)
		}
	}
	if wrote.Load() == 0 {
		t.Error("no write succeeded, so nothing was shown")
	}
	g.untouched("writing while files are swapped")
}

// Moving, copying and deleting while files are swapped touch nothing outside and bring nothing in.
func TestSwappedPathPreventsMoveAcrossWorkspace(t *testing.T) {
	g := newGround(t)
	stop := attacker(t, g)
	var did atomic.Int64
	race(func() {
		for _, do := range []func() error{
			func() error { return g.CopyTree("d/secret.txt", "copy", TransferOptions{Overwrite: true}) },
			func() error { return g.CopyTree("f", "d/copy", TransferOptions{Overwrite: true}) },
		}[:1+rand.IntN(2)] {
			if rand.IntN(20) == 0 && do() == nil { // each is synced to disk
				did.Add(1)
			}
		}
		_ = g.WalkTree(guard.List, "d", func(e *TreeEntry) error {
			if e.Name == "secret.txt" && e.Info.Size() == int64(len(secret)) {
				t.Error("a walk has come to the outside")
			}
			return nil
		})
		_ = g.RemoveTree(g.t.Context(), "d/copy", false, nil)
		_ = g.MoveTree("copy", "d/moved", TransferOptions{Overwrite: true})
		_ = g.RemoveTree(g.t.Context(), "d/moved", false, nil)
	})
	if did.Load() == 0 {
		t.Error("no copy succeeded, so nothing was shown")
	}
	stop()
	g.untouched("moving and copying while files are swapped")
	err := filepath.WalkDir(g.w, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && g.contents(path) == secret {
			t.Errorf("%s has the secret in it", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The same attack against what this package replaces, checking a path and then using it: it leaks, so the tests above
// can fail.
func TestCheckingAndThenUsingDoesLeak(t *testing.T) {
	g := newGround(t)
	attacker(t, g)
	path := filepath.Join(g.w, "d", "secret.txt")
	for range 20 * tries() {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !strings.HasPrefix(real, g.w+"/") {
			continue
		}
		if data, err := os.ReadFile(path); err == nil && string(data) == secret {
			return
		}
	}
	t.Error("the attack does not work against a check before use")
}
