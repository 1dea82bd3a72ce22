package undo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
func change(t *testing.T, s *Store, files *workspace.Workspace, summary string, was []byte) RecordingResult {
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

// A changed archive is named, and neither its contents nor those of an older operation are restored.
func TestDamagedArchiveIsNamed(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), openFiles(t)
	s := openStore(t, dir, StoreOptions{})
	file := filepath.Join(files.Dir(), "f")
	ended := change(t, s, files, "damaged", bytes.Repeat([]byte("y"), 4000))
	path := s.archivePath(ended.ID)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, data []byte, isListed bool) {
		t.Helper()
		if bytes.Equal(data, good) {
			return
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, force := range []bool{false, true} {
			if _, err := s.Undo(t.Context(), files, UndoRequest{ID: ended.ID, Force: force}); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
				t.Fatalf("%s: undo: %v", name, err)
			}
		}
		if now, err := os.ReadFile(file); string(now) != "new" {
			t.Fatalf("%s: the file has %.20q, %v", name, now, err)
		}
		if got := summaries(t, s); len(got) != 1 || isListed && got[0] != "an unreadable archive" {
			t.Fatalf("%s: the history lists %q", name, got)
		}
	}
	for at := len(good) - trailerSize; at < len(good); at++ { // the history is read from here
		if in := at - len(good) + trailerSize; in >= 148 && in < 156 {
			continue // the checksum of the tar header, in which some bits mean nothing
		}
		data := slices.Clone(good)
		data[at] ^= 1 << (at % 8)
		check(fmt.Sprintf("bit %d of byte %d", at%8, at), data, true)
	}
	for at := 0; at < len(good); at += 211 {
		check(fmt.Sprintf("cut at %d", at), good[:at], true)
		for name, damage := range map[string]func(byte) byte{
			"a changed bit": func(b byte) byte { return b ^ 1 }, "a zero": func(byte) byte { return 0 }, "a digit": func(byte) byte { return '7' },
		} {
			data := slices.Clone(good)
			data[at] = damage(data[at])
			check(fmt.Sprintf("%s at %d", name, at), data, at >= len(good)-trailerSize)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(t.Context(), files, UndoRequest{ID: ended.ID}); err != nil {
		t.Errorf("with a copy restored: %v", err)
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
			if s.HasPruned() {
				t.Error("a new store has deleted operations")
			}
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
			if each > 100 && !s.HasPruned() {
				t.Error("the store does not tell of deleted operations")
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
	good = regexp.MustCompile(`,"checksum":"[0-9a-f]+"`).ReplaceAllFunc(good, func(text []byte) []byte { return bytes.Repeat([]byte(" "), len(text)) })
	end := good[len(good)-trailerSize+blockSize:]
	copy(end, appendChecksum(slices.Clone(end[:len(end)-checksumSize])))
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte(`"name":"f"`), []byte(`"name":"/"`)))
	f.Add([]byte("not an archive"))
	outside := f.TempDir()
	_ = os.WriteFile(filepath.Join(dir, latestName), make([]byte, latestBytes), 0o600) // an archive without an end is a killed operation's
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
