package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// However many outputs are kept, the shelf holds its bounds, the newest are there and what is too old is not.
func TestOutputFilesAreLimited(t *testing.T) {
	for what, c := range map[string]struct {
		size int64
		age  time.Duration
		left int
	}{
		"many small ones": {size: 10, left: MaxOutputFiles},
		"large ones":      {size: MaxFileBytes, left: maxTotalBytes / MaxFileBytes},
		"old ones":        {size: 10, age: maxOutputAge + time.Hour, left: 1},
	} {
		dir := t.TempDir()
		var newest string
		for range MaxOutputFiles + 5 {
			f, err := NewOutputFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.(storedOutputFile).Truncate(c.size); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			newest = filepath.Join(dir, f.Name())
		}
		shelf, err := os.OpenRoot(filepath.Join(dir, OutputDir))
		if err != nil {
			t.Fatal(err)
		}
		removeOldFiles(shelf, filepath.Base(newest), time.Now().Add(c.age))
		_ = shelf.Close()
		entries, err := os.ReadDir(filepath.Join(dir, OutputDir))
		if err != nil || len(entries) != c.left {
			t.Errorf("%s: %d are left, not %d: %v", what, len(entries), c.left, err)
		}
		if _, err := os.Stat(newest); err != nil {
			t.Errorf("%s: the newest: %v", what, err)
		}
	}
}

// Files that others moved to the shelf stay, also with the name of an output.
func TestFilesOfOthersStayOnShelf(t *testing.T) {
	dir := t.TempDir()
	f, err := NewOutputFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * maxOutputAge)
	for _, name := range []string{"notes.txt", "20010101-000000.000000-0.txt"} {
		path := filepath.Join(dir, OutputDir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if f, err = NewOutputFile(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, OutputDir)); errors.Join(err, f.Close()) != nil || len(entries) != 4 {
		t.Errorf("%v: %v", err, entries)
	}
}

// full is a file on a disk that is full after some bytes.
type full struct{ room int }

func (f *full) Name() string { return "full" }
func (f *full) Close() error { return nil }
func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	if f.room -= n; n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

// What couldn't be kept is told to the byte.
func TestFullDiskIsReported(t *testing.T) {
	const room = fileWriteBytes + 1000
	r := NewOutputRecorder(func() (OutputFile, error) { return &full{room: room}, nil })
	for range 100 {
		r.AddBytes(Stdout, make([]byte, 10_000))
	}
	if rest := r.Finish(); rest.Written != room || rest.Total != 1_000_000 || rest.Err == nil {
		t.Errorf("written %d, total %d, %v", rest.Written, rest.Total, rest.Err)
	}
}

// The file ends at its bound, whatever the pieces are that come.
func TestOutputFileSizeLimit(t *testing.T) {
	for _, size := range []int{1000, 65536, 99_999, 3 << 20} {
		to := &full{room: 2 * MaxFileBytes}
		r := NewOutputRecorder(func() (OutputFile, error) { return to, nil })
		for total := 0; total < MaxFileBytes+MaxFileBytes/2; total += size {
			r.AddBytes(Stdout, make([]byte, size))
		}
		if rest := r.Finish(); rest.Written != MaxFileBytes || to.room != MaxFileBytes || rest.Err != nil {
			t.Errorf("pieces of %d: %d are written, %d are there: %v", size, rest.Written, 2*MaxFileBytes-to.room, rest.Err)
		}
	}
}
