package takeback

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// total is how much the journal takes on disk, in bytes.
func total(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// While it is used the journal stays within its bound, and keeps most of what it has room for.
func TestTheBoundHoldsAllTheWhile(t *testing.T) {
	const bound = 2_000_000
	for _, each := range []int{100, 20_000, 120_000, 400_000} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, Options{MaxBytes: bound})
			contents := make([]byte, each)
			written := 0
			for i := range min(1500, 5*bound/each) {
				keep(t, j, fmt.Sprint(i), contents)
				written += each
				j.pruning.Wait()
				if all := total(t, dir); all > bound || written > 2*bound && all < bound/2 {
					t.Fatalf("after %d operations the journal has %d bytes", i+1, all)
				}
			}
		})
	}
}

// An archive that another process has pruned gets no more operations.
func TestWhatComesAfterPruningIsKept(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	keep(t, j, "before", nil)
	j.pruning.Wait()
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	id := keep(t, j, "after", []byte("x"))
	keep(t, j, "last", []byte("x"))
	if got := summaries(t, j); !slices.Equal(got, []string{"last", "after"}) {
		t.Errorf("%v", got)
	}
	if _, err := j.Op(id); err != nil {
		t.Error(err)
	}
}
