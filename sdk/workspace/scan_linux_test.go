package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// scanned are the directories that a scan comes by, which goes into all that look like some.
func scanned(t *testing.T, g *ground, into func(fs.DirEntry) bool) []string {
	t.Helper()
	var mu sync.Mutex
	var dirs []string
	err := g.ScanDirs(t.Context(), ".", func(dir string, entries []fs.DirEntry) (names []string, err error) {
		mu.Lock()
		defer mu.Unlock()
		dirs = append(dirs, dir)
		for _, e := range entries {
			if into(e) {
				names = append(names, e.Name())
			}
		}
		return names, nil
	})
	if err != nil {
		t.Error(err)
	}
	slices.Sort(dirs)
	return dirs
}

func TestScanVisitsEachDirectoryOnce(t *testing.T) {
	g := newGround(t)
	want := []string{"."}
	for i := range 40 {
		dir := fmt.Sprintf("d%02d", i)
		want = append(want, dir, dir+"/sub")
		if err := os.MkdirAll(filepath.Join(g.w, dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g.link(filepath.Dir(g.o), "out")
	g.link("d00", "in")
	g.link("..", "d01/up")
	g.put(filepath.Join(g.w, "file"), "x")
	before := descriptors(t)
	if got := scanned(t, g, func(fs.DirEntry) bool { return true }); !slices.Equal(got, want) {
		t.Errorf("it came by %v", got)
	}
	if got := scanned(t, g, func(fs.DirEntry) bool { return false }); !slices.Equal(got, want[:1]) {
		t.Errorf("it came by %v", got)
	}
	// One that ends early leaves nothing open either.
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	for _, end := range []func() error{func() error { return broken }, func() error { cancel(); return nil }} {
		seen := 0
		var mu sync.Mutex
		err := g.ScanDirs(ctx, ".", func(_ string, entries []fs.DirEntry) (names []string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen == 5 {
				return nil, end()
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return names, nil
		})
		if !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
			t.Errorf("it ended after %d directories with %v", seen, err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are open; before it were %d", after, before)
	}
	if err := g.ScanDirs(t.Context(), "file", nil); !errors.Is(err, NotDirectory) {
		t.Errorf("a file: %v", err)
	}
	wantRefused(t, "scan outside", g.ScanDirs(t.Context(), "out", nil))
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
