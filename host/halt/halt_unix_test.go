//go:build unix

package halt

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Root stops what another user runs: that user has to see it, and to be able to take it back.
func TestAStopBelongsToTheOwnerOfTheInstanceRoot(t *testing.T) {
	home := t.TempDir()
	owner := os.Getuid()
	if owner == 0 {
		owner = 1000
		if err := os.Chown(home, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := Put(home, Stop{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(home, dirName), path(home, all)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != owner {
			t.Errorf("%s belongs to %d; want %d", path, uid, owner)
		}
	}
}

// What may not be looked into stops what runs as it stops what would begin.
func TestWhatMayNotBeReadStopsAll(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	home := t.TempDir()
	dir := filepath.Join(home, dirName)
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	stopped, err := Read(home)
	if err != nil || stopped.For("main") == nil || Of(home, "main") == nil {
		t.Errorf("read: %v %v; of: %v", stopped, err, Of(home, "main"))
	}
}
