package undo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

func openStore(t *testing.T, dir string, o StoreOptions) *Store {
	t.Helper()
	o.Dir = dir
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func openFiles(t *testing.T) *workspace.Workspace {
	t.Helper()
	files, err := workspace.OpenWorkspace(guard.Policy{Workspace: t.TempDir(), Restrict: true}, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// change records an operation that overwrites one file, and returns what became of it.
func change(t *testing.T, s *Store, files *workspace.Workspace, summary string, was []byte) OperationResult {
	t.Helper()
	path := filepath.Join(files.Dir(), "f")
	if err := os.WriteFile(path, was, 0o640); err != nil {
		t.Fatal(err)
	}
	r := s.NewRecorder(files, RecordOptions{Tool: "test", Summary: summary})
	_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: path})
	if err := os.WriteFile(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	return r.End()
}

func summaries(t *testing.T, s *Store) []string {
	t.Helper()
	var all []string
	if err := s.EachOperation(func(op *Operation) bool { all = append(all, op.Summary); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOperationsComeNewestFirst(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), openFiles(t)
	a, b := openStore(t, dir, StoreOptions{}), openStore(t, dir, StoreOptions{})
	var want []string
	for i := range 20 {
		s := a
		if i%3 == 0 {
			s = b // as another process
		}
		change(t, s, files, fmt.Sprint(i), fmt.Append(nil, i))
		want = append(want, fmt.Sprint(i))
	}
	slices.Reverse(want)
	if got := summaries(t, openStore(t, dir, StoreOptions{})); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestDiscardedOperationIsUnlisted(t *testing.T) {
	t.Parallel()
	s, files := openStore(t, t.TempDir(), StoreOptions{}), openFiles(t)
	change(t, s, files, "first", []byte("x"))
	r := s.NewRecorder(files, RecordOptions{Summary: "discarded"})
	_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(files.Dir(), "f")})
	r.Discard()
	if got := summaries(t, s); !slices.Equal(got, []string{"first"}) {
		t.Errorf("%v", got)
	}
}

// An archive that was cut short is listed: a later undo must not take an older operation for the last.
func TestTornArchiveIsListed(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), openFiles(t)
	s := openStore(t, dir, StoreOptions{})
	ended := change(t, s, files, "torn", bytes.Repeat([]byte("y"), 4000))
	path := filepath.Join(dir, ended.ID+suffix)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := info.Size() - 1; size >= 0; size -= 509 {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if n := len(summaries(t, s)); n != 1 {
			t.Fatalf("of %d bytes %d operations are listed", size, n)
		}
		want := "new"
		if done, err := s.Undo(t.Context(), files, UndoRequest{ID: ended.ID}); err == nil && len(done.Paths) > 0 {
			want = strings.Repeat("y", 4000) // the end repeats what comes before
			_ = errors.Join(os.Remove(filepath.Join(dir, done.Ended.ID+suffix)), os.Remove(filepath.Join(dir, latestName)))
		}
		if data, err := os.ReadFile(filepath.Join(files.Dir(), "f")); string(data) != want {
			t.Fatalf("of %d bytes is left, and the file is %.20q, %v", size, data, err)
		}
		if err := os.WriteFile(filepath.Join(files.Dir(), "f"), []byte("new"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoreStaysWithinBounds(t *testing.T) {
	t.Parallel()
	const bound = 2_000_000
	for _, each := range []int{100, 20_000, 400_000} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			t.Parallel()
			dir, files := t.TempDir(), openFiles(t)
			s := openStore(t, dir, StoreOptions{MaxBytes: bound, MaxAge: time.Hour})
			old := filepath.Join(dir, "20200101T000000000000000-aaaa.tar")
			if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, time.Now(), time.Now().Add(-2*time.Hour))); err != nil {
				t.Fatal(err)
			}
			contents := make([]byte, each)
			for range min(600, 3*bound/each) {
				change(t, s, files, "x", contents)
				s.pruning.Wait()
				total := int64(0)
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					if info, err := e.Info(); err == nil {
						total += info.Size()
					}
				}
				if total > bound+int64(each) {
					t.Fatalf("the store has %d bytes", total)
				}
			}
			if _, err := os.Stat(old); err == nil {
				t.Error("an old archive is still there")
			}
			if ended := change(t, s, files, "large", make([]byte, bound/2)); ended.Missing == "" || ended.ID != "" {
				t.Errorf("%+v", ended)
			}
		})
	}
}

// Whatever is in the store's directory, reading it ends, and undo changes nothing outside the workspace.
func FuzzArchive(f *testing.F) {
	dir := f.TempDir()
	files, err := workspace.OpenWorkspace(guard.Policy{Workspace: f.TempDir(), Restrict: true}, workspace.Options{})
	if err != nil {
		f.Fatal(err)
	}
	s, err := Open(StoreOptions{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(files.Dir(), "f")
	_ = os.WriteFile(path, []byte("was"), 0o600)
	r := s.NewRecorder(files, RecordOptions{Tool: "test", Summary: "seed"})
	_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Remove, Path: path})
	_ = os.Remove(path)
	ended := r.End()
	good, err := os.ReadFile(filepath.Join(dir, ended.ID+suffix))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte(`"name":"f"`), []byte(`"name":"/"`)))
	f.Add([]byte("not an archive"))
	outside := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.ReplaceAll(data, []byte("OUT"), []byte(outside))
		if err := os.WriteFile(filepath.Join(dir, ended.ID+suffix), data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = s.EachOperation(func(*Operation) bool { return true })
		_, _ = s.Undo(t.Context(), files, UndoRequest{ID: ended.ID, Force: true})
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Fatalf("%v, %v", entries, err)
		}
		entries, _ := os.ReadDir(files.Dir())
		for _, e := range entries {
			if strings.Contains(e.Name(), "/") {
				t.Error(e.Name())
			}
			_ = os.RemoveAll(filepath.Join(files.Dir(), e.Name()))
		}
	})
}
