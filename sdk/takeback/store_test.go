package takeback

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	o.Dir = dir
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

// keep writes an operation that keeps one file.
func keep(t *testing.T, j *Store, summary string, contents []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, contents, 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := j.Begin(Op{Tool: "test", Summary: summary})
	if err == nil {
		err = w.Keep("0", ".", info, "", bytes.NewReader(contents))
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.ID()
}

func summaries(t *testing.T, j *Store) []string {
	t.Helper()
	var all []string
	if err := j.Each(func(op *Op) bool { all = append(all, op.Summary); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOperationsComeBackTheNewestFirst(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, Options{}), open(t, dir, Options{})
	var ids, want []string
	for i := range 40 {
		j, contents := a, []byte(fmt.Sprint(i))
		if i%3 == 0 {
			j = b // as another process
		}
		if i%10 == 0 {
			contents = bytes.Repeat(contents, smallest+1) // in an archive of its own
		}
		ids = append(ids, keep(t, j, fmt.Sprint(i), contents))
		want = append(want, fmt.Sprint(i))
	}
	slices.Reverse(want)
	if got := summaries(t, open(t, dir, Options{})); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for i, id := range ids {
		found := ""
		err := a.Blob(id, "0", func(k Kept) error {
			data, err := io.ReadAll(k.Contents)
			found = string(data)
			if k.Header.FileInfo().Mode() != 0o640 {
				t.Errorf("the mode is %v", k.Header.FileInfo().Mode())
			}
			return err
		})
		if err != nil || !strings.HasPrefix(found, fmt.Sprint(i)) {
			t.Errorf("%s keeps %.20q, %v; want %d", id, found, err, i)
		}
	}
}

func TestWhatDidNotTakePlaceIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	keep(t, j, "first", nil)
	id := keep(t, j, "dropped", nil)
	if err := j.Drop(id); err != nil {
		t.Fatal(err)
	}
	w, err := j.Begin(Op{Summary: "aborted"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := summaries(t, j); !slices.Equal(got, []string{"first"}) {
		t.Errorf("%v", got)
	}
}

// An archive that ends in the middle of a member, as a killed process leaves it, is good up to there.
func TestATornArchiveIsReadAsFarAsItGoes(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	keep(t, j, "whole", []byte("x"))
	keep(t, j, "torn", bytes.Repeat([]byte("y"), 4000))
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	info, err := os.Stat(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for cut := int64(1); cut < info.Size(); cut += 511 {
		if err := os.Truncate(names[0], info.Size()-cut); err != nil {
			t.Fatal(err)
		}
		_ = summaries(t, j)
	}
}

func TestTheJournalIsBounded(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{MaxBytes: 10 << 20, MaxAge: time.Hour})
	old := filepath.Join(dir, "20200101T000000000000000-aaaa.tar")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, time.Now(),
		time.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		keep(t, j, "large", make([]byte, 2<<20))
	}
	j.prune()
	total := int64(0)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if _, err := os.Stat(old); err == nil || total > 10<<20 || total < 6<<20 {
		t.Errorf("%d bytes are left, in %v", total, entries)
	}
	w, err := j.Begin(Op{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, entries[len(entries)-1].Name()))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Keep("0", ".", large{info}, "", strings.NewReader(""))
	if tooLarge := new(TooLarge); !errors.As(err, &tooLarge) {
		t.Errorf("%v", err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
}

// large is a file that says that it is.
type large struct{ os.FileInfo }

func (large) Size() int64 { return 3 << 20 }

// Whatever is in the journal's directory, reading it ends and does not fail.
func FuzzArchive(f *testing.F) {
	var good bytes.Buffer
	w := tar.NewWriter(&good)
	const id = "20260101T000000000000000-aaaa"
	op := []byte(`{"summary":"x","steps":[{"action":"restore","path":"/x","blob":"0"}]}`)
	_ = w.WriteHeader(&tar.Header{Name: id + "/op.json", Size: int64(len(op)), Mode: 0o600})
	_, _ = w.Write(op)
	_ = w.WriteHeader(&tar.Header{Name: id + "/0/../../x", Size: 1})
	_, _ = w.Write([]byte("x"))
	_ = w.Flush()
	f.Add(good.Bytes())
	f.Add([]byte("not an archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, id+suffix), data, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, Options{})
		if err := j.Each(func(op *Op) bool {
			_ = j.Blob(op.ID, "0", func(k Kept) error {
				if strings.HasPrefix(k.Name, "..") {
					t.Errorf("a name leads out: %q", k.Name)
				}
				_, err := io.Copy(io.Discard, k.Contents)
				return err
			})
			return true
		}); err != nil {
			t.Fatal(err)
		}
	})
}
