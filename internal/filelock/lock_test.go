package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Two open files of one process exclude each other as those of two processes do.
func TestLockExcludesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func(lock func(*os.File) error) (*os.File, error) {
		f, err := OpenLocked(path, lock)
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
		return f, err
	}
	first, err := open(LockWaiting)
	if err != nil {
		t.Fatal(err)
	}
	for name, lock := range map[string]func(*os.File) error{"exclusive": Lock, "shared": LockShared} {
		if _, err := open(lock); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v, want ErrLocked", name, err)
		}
	}
	if err := Unlock(first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := open(LockShared); err != nil {
			t.Errorf("shared after Unlock: %v", err)
		}
	}
	if err := Lock(first); !errors.Is(err, ErrLocked) {
		t.Errorf("exclusive beside shared: %v, want ErrLocked", err)
	}
}

// LockWaiting returns once the other lock is released.
func TestWaitReturnsAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := OpenLocked(path, Lock)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		second, err := OpenLocked(path, LockWaiting)
		got <- errors.Join(err, second.Close())
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestOpenFollowsNoSymlink(t *testing.T) {
	if NoFollow == 0 {
		t.Skip("this system has no such flag")
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenLocked(filepath.Join(dir, "lock"), Lock); err == nil {
		t.Errorf("it opened %s", f.Name())
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("it created the file that the symlink names")
	}
}

// A file that its holder removes before it releases the lock is not the one that is opened.
func TestOpenReturnsFileAtPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := OpenLocked(path, Lock)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	second, err := OpenLocked(path, func(f *os.File) error {
		if tries++; tries == 1 {
			if err := errors.Join(os.Remove(path), first.Close()); err != nil {
				t.Fatal(err)
			}
		}
		return Lock(f)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	opened, err := second.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(opened, there) || tries != 2 {
		t.Errorf("after %d tries, another file is at the path: %v", tries, err)
	}
}
