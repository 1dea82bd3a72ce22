package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

func TestLostArchiveIsListed(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1, 2} {
		dir, files := t.TempDir(), openFiles(t)
		s := openStore(t, dir, StoreOptions{})
		var paths []string
		for i := range 3 {
			paths = append(paths, s.archivePath(change(t, s, files, fmt.Sprint(i), []byte("x")).ID))
		}
		if err := os.Remove(paths[lost]); err != nil {
			t.Fatal(err)
		}
		want := []string{"2", "1", "0"}
		want[2-lost] = "an operation without an archive"
		if got := summaries(t, openStore(t, dir, StoreOptions{})); !slices.Equal(got, want) {
			t.Errorf("without the archive of %d: %q", lost, got)
		}
		if err := openStore(t, dir, StoreOptions{}).EachOperation(func(op *Operation) bool {
			if time.Since(op.Time) > time.Hour {
				t.Errorf("%q has the time %v", op.Summary, op.Time)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestBrokenLatestListIsRecreated(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), openFiles(t)
	s := openStore(t, dir, StoreOptions{})
	latest := filepath.Join(dir, latestName)
	for _, broken := range []string{"", strings.Repeat("\x00", latestBytes), strings.Repeat("\xffgarbled", 1000), "20061121T"} {
		if err := os.WriteFile(latest, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		last := change(t, s, files, "last", []byte("x")).ID
		if err := os.Remove(s.archivePath(last)); err != nil {
			t.Fatal(err)
		}
		if got := summaries(t, openStore(t, dir, StoreOptions{})); got[0] != "an operation without an archive" {
			t.Errorf("after %.10q: %q", broken, got)
		}
	}
	change(t, s, files, "older", []byte("x"))
	newest := change(t, s, files, "newest", []byte("x")).ID
	if err := errors.Join(os.Remove(latest), os.Remove(s.archivePath(newest))); err != nil {
		t.Fatal(err)
	}
	if got := summaries(t, openStore(t, dir, StoreOptions{})); got[0] != "an operation without an archive" {
		t.Errorf("without the list and the newest archive: %q", got)
	}
	if err := os.Remove(latest); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(latest, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(StoreOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), latest) {
		t.Errorf("with a directory in its place: %v", err)
	}
}

func TestFullStoreRemembersOperation(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	for name, options := range map[string]string{"bytes": "size=1m", "inodes": "size=8m,nr_inodes=8"} {
		t.Run(name, func(t *testing.T) {
			dir, files := t.TempDir(), openFiles(t)
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			s := openStore(t, dir, StoreOptions{})
			change(t, s, files, "older", []byte("x"))
			for i := range 64 {
				var content []byte
				if name == "bytes" {
					content = make([]byte, 64<<10)
				}
				if os.WriteFile(filepath.Join(dir, fmt.Sprint("fill", i)), content, 0o600) != nil {
					break
				}
			}
			if ended := change(t, s, files, "newer", []byte("y")); ended.Missing == "" {
				t.Fatal("the store is not full")
			}
			if got := summaries(t, s); len(got) != 2 || got[1] != "older" {
				t.Errorf("%q", got)
			}
		})
	}
}

// Anything at the name of an archive that is no file is named, and read without waiting for a writer.
func TestIrregularArchiveIsNamed(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"dangling_symlink": func(path string) error { return os.Symlink(path+".none", path) },
		"symlink_to_older": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "older"), path) },
		"symlink_loop":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"directory":        func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":             func(path string) error { return unix.Mkfifo(path, 0o600) },
		"unlisted_fifo": func(path string) error {
			return errors.Join(unix.Mkfifo(path, 0o600), os.Remove(filepath.Join(filepath.Dir(path), latestName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, files := t.TempDir(), openFiles(t)
			s := openStore(t, dir, StoreOptions{})
			older := change(t, s, files, "older", []byte("1")).ID
			newer := change(t, s, files, "newer", []byte("2")).ID
			data, err := os.ReadFile(s.archivePath(older))
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "older"), data, 0o600), os.Remove(s.archivePath(newer)), put(s.archivePath(newer))); err != nil {
				t.Fatal(err)
			}
			want := []string{"an unreadable archive", "older"}
			if name == "unlisted_fifo" { // the list of the latest ones is lost, too
				s = openStore(t, dir, StoreOptions{})
				want = slices.Concat([]string{"an operation without an archive"}, want)
			}
			if got := summaries(t, s); !slices.Equal(got, want) {
				t.Errorf("the history lists %q", got)
			}
			if _, err := s.Undo(t.Context(), files, UndoRequest{ID: newer, Force: true}); err == nil || !strings.Contains(err.Error(), newer) {
				t.Errorf("undo: %v", err)
			}
		})
	}
}

// A full disk costs the files that could not be saved, by name, and none of those saved before and after.
func TestFullStoreKeepsSavedFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	for name, c := range map[string]struct {
		others int  // more files that the operation creates
		ends   bool // the record fits
	}{"content": {10, true}, "many_names": {60, true}, "record": {4000, false}} {
		dir, files := t.TempDir(), openFiles(t)
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		s := openStore(t, dir, StoreOptions{})
		path := func(name string) string { return filepath.Join(files.Dir(), name) }
		sizes := map[string]int{"a": 1 << 20, "b": 1 << 20, "c": 1 << 20, "d": 2 << 20, "e": 100, "f": 1 << 20}
		for file, size := range sizes {
			if err := os.WriteFile(path(file), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := s.NewRecorder(files, RecordOptions{Tool: "test", Summary: "test"})
		for _, file := range []string{"a", "b", "c", "d", "e", "f"} {
			_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Remove, Path: path(file)})
			if err := os.Remove(path(file)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range c.others {
			file := path(strings.Repeat("n", 200) + fmt.Sprint(i))
			_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: file})
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		id, ended := r.record.ID, r.End()
		if c.ends == (ended.Missing != "") {
			t.Errorf("%s: %+v", name, ended)
		}
		if lost := strings.Join(ended.Lost, "; "); len(ended.Lost) != 3 || !strings.Contains(lost, path("c")) || !strings.Contains(lost, path("d")) || !strings.Contains(lost, path("f")) {
			t.Errorf("%s: not covered: %q", name, ended.Lost)
		}
		if got := summaries(t, s); len(got) != 1 || got[0] != "test" {
			t.Errorf("%s: the history lists %q", name, got)
		}
		done, err := s.Undo(t.Context(), files, UndoRequest{ID: id, Force: !c.ends})
		for file, size := range sizes {
			want := map[bool]int{true: size, false: -1}[size < 1<<20 || file < "c"]
			data, readErr := os.ReadFile(path(file))
			if readErr != nil {
				data = nil
			}
			if err != nil || want >= 0 && len(data) != want || want < 0 && readErr == nil {
				t.Errorf("%s: %s: %v, %v: %d bytes, %v", name, file, err, done.Conflicts, len(data), readErr)
			}
		}
	}
}
