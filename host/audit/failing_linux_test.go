package audit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPendingEntriesAreWrittenLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	if err := errors.Join(os.Remove(path), os.Symlink("/dev/full", path)); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"one", "two"} {
		if err := log.Write(record(tool)); err == nil {
			t.Fatal("a device takes records")
		}
	}
	if err := log.EnsureWritable(); err == nil {
		t.Fatal("it is ready")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := log.EnsureWritable(); err != nil {
		t.Fatal(err)
	}
	if err := log.Write(record("three")); err != nil {
		t.Fatal(err)
	}
	all := read(t, path)
	if len(all) != 3 || all[0].Tool != "one" || all[1].Tool != "two" || all[2].Tool != "three" {
		t.Errorf("%v", all)
	}
}

func TestDroppedEntriesAreReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	if err := errors.Join(os.Remove(path), os.Symlink("/dev/full", path)); err != nil {
		t.Fatal(err)
	}
	for range maxPending + 2 {
		if err := log.Write(record("x")); err == nil {
			t.Fatal("a full disk takes records")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := log.EnsureWritable(); err == nil ||
		err.Error() != "write the audit log: 2 entries were lost while it could not be written" {
		t.Errorf("the error is %v", err)
	}
	if err := log.EnsureWritable(); err != nil {
		t.Error(err)
	}
	if got := len(read(t, path)); got != maxPending {
		t.Errorf("%d records are there", got)
	}
}

func TestHeldLockTimesOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	log.lockTimeout = 10 * time.Millisecond
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := log.Write(record("x")); err == nil {
		t.Error("it was written without the lock")
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.EnsureWritable(); err != nil {
		t.Error(err)
	}
	if got := len(read(t, path)); got != 1 {
		t.Errorf("%d records", got)
	}
}
