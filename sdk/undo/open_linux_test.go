package undo_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// dropLeaseCapability keeps root from asking for leases of other owners' files, until the test ends.
func dropLeaseCapability(t *testing.T) {
	t.Helper()
	set := func(isLost bool) {
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		must(t, unix.Capget(&head, &data[0]))
		if data[0].Effective |= data[0].Permitted & (1 << unix.CAP_LEASE); isLost {
			data[0].Effective &^= 1 << unix.CAP_LEASE
		}
		_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data)), 0)
		if errno == unix.ENOTSUP {
			t.Skip("needs a test binary without cgo: CGO_ENABLED=0, as make test has it")
		}
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	set(true)
	t.Cleanup(func() { set(false) })
}

// An operation keeps a file open of which nobody can tell whether a program writes to it: undo restores it.
func TestUndoRestoresFileThatStaysOpen(t *testing.T) {
	if os.Getuid() == 0 {
		dropLeaseCapability(t)
	}
	for name, c := range map[string]struct {
		make  func(path string) error
		flags int
		use   func(f *os.File, tell func(mutation.Kind)) error
	}{
		"other_owner_truncated": {make: func(p string) error { return os.Chown(p, 33, 33) }, flags: os.O_WRONLY | os.O_TRUNC},
		"other_owner_read_too":  {make: func(p string) error { return os.Chown(p, 33, 44) }, flags: os.O_RDWR},
		"other_owner_appended": {make: func(p string) error { return os.Chown(p, 1, 0) }, flags: os.O_WRONLY | os.O_APPEND, use: func(f *os.File, tell func(mutation.Kind)) error {
			tell(mutation.Attribute)
			return f.Chmod(0o604)
		}},
		"unreadable": {make: func(p string) error { return os.Chmod(p, 0o200) }, flags: os.O_WRONLY},
		"own":        {make: func(string) error { return nil }, flags: os.O_WRONLY},
	} {
		w := newWorld(t, 1)
		path, other := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "g")
		must(t, write(path, 0, "was"), write(other, 0, "was"))
		if err := c.make(path); errors.Is(err, os.ErrPermission) {
			continue // only root gives files away
		}
		before := w.snapshot()
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Write, path, "")
			f, err := os.OpenFile(path, c.flags, 0)
			must(t, err)
			for range 2 {
				_, err = f.WriteString("agent")
				tell(1, mutation.Write, other, "")
				must(t, err, write(other, os.O_TRUNC, "agent"))
				w.recorder.Tick()
			}
			if c.use != nil {
				must(t, c.use(f, func(kind mutation.Kind) { tell(1, kind, path, "") }))
			}
			tell(2, mutation.Write, path, "") // fails, so that no close follows
			tell(2, mutation.Failed, "", "")
			must(t, f.Close())
			w.recorder.Tick()
		})
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
			t.Errorf("%s: %v, %v: %s", name, err, done.Conflicts, difference(before, now))
		}
	}
}

// Nobody has the file open after a failed call, so a later write is the user's.
func TestUndoSparesWriteToFileOfOtherOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	dropLeaseCapability(t)
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "f")
	must(t, write(path, 0, "was"), os.Chown(path, 33, 33))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path, "")
		tell(1, mutation.Failed, "", "")
		tell(1, mutation.Make, filepath.Join(w.dir, "d"), "")
		must(t, os.Mkdir(filepath.Join(w.dir, "d"), 0o755), write(path, os.O_TRUNC, "user's"))
	})
	_, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if data, readErr := os.ReadFile(path); err != nil || string(data) != "user's" {
		t.Errorf("%v, %v: %q", err, readErr, data)
	}
}

// The operation replaces a file of the user's by a FIFO or device that it has open.
func TestUndoRestoresFileReplacedByOpenSpecialFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   uint32
		flags  int
		change func(path string) error
	}{
		"time":          {unix.S_IFIFO, os.O_RDWR, setTime},
		"mode":          {unix.S_IFIFO, os.O_RDWR, func(p string) error { return os.Chmod(p, 0o640) }},
		"owner":         {unix.S_IFIFO, os.O_RDWR | unix.O_NONBLOCK, func(p string) error { return os.Chown(p, os.Getuid(), os.Getgid()) }},
		"mode_and_time": {unix.S_IFIFO, os.O_RDWR, func(p string) error { return errors.Join(os.Chmod(p, 0o640), setTime(p)) }},
		"device":        {unix.S_IFCHR, os.O_RDONLY, setTime},
	} {
		w := newWorld(t, 1)
		path := filepath.Join(w.dir, "f")
		must(t, write(path, 0, "was"))
		before := w.snapshot()
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Remove, path, "")
			must(t, os.Remove(path))
			tell(1, mutation.Make, path, "")
			must(t, unix.Mknod(path, c.kind|0o600, 0))
			if c.kind == unix.S_IFIFO {
				tell(1, mutation.Write, path, "")
				f, err := os.OpenFile(path, c.flags, 0)
				must(t, err)
				defer func() { _ = f.Close() }()
			}
			tell(1, mutation.Attribute, path, "")
			must(t, c.change(path))
			w.recorder.Tick()
		})
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
			t.Errorf("%s: %v, %v: %s", name, err, done.Conflicts, difference(before, now))
		}
	}
}
