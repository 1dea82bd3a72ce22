package halt

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Whoever fills the disk can be stopped.
func TestAFullDiskCanBeStopped(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	home := t.TempDir()
	if err := unix.Mount("tmpfs", home, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(home, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(home, "fill"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	if err := Put(home, Stop{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if stopped, err := Read(home); err != nil || stopped.For("main") == nil || Of(home, "main") == nil {
		t.Errorf("read: %v %v; of: %v", stopped, err, Of(home, "main"))
	}
}
