package killswitch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFullDiskCanBeStopped(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	for name, options := range map[string]string{"bytes": "size=8m", "inodes": "size=8m,nr_inodes=8"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := unix.Mount("tmpfs", home, "tmpfs", 0, options); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(home, unix.MNT_DETACH) })
			if err := CreateStopFile(home); err != nil {
				t.Fatal(err)
			}
			if err := CheckFreeSpace(home); err != nil {
				t.Fatal(err)
			}
			for i := 0; ; i++ {
				content := make([]byte, 64<<10)
				if name == "inodes" {
					content = nil
				}
				if os.WriteFile(filepath.Join(home, "fill"+string(rune('a'+i))), content, 0o600) != nil {
					break
				}
			}
			if CheckFreeSpace(home) == nil {
				t.Error("commands go on")
			}
			if err := StopAgent(home, Stop{Time: time.Now(), Why: "it loops"}); err != nil {
				t.Fatal(err)
			}
			if stop := ReadStopOfAgent(home, "main"); stop == nil || stop.Why != "it loops" {
				t.Errorf("stop %v", stop)
			}
			if was, err := ResumeAgent(home, ""); !was || err != nil || ReadStopOfAgent(home, "main") != nil {
				t.Errorf("take %v %v; stop %v", was, err, ReadStopOfAgent(home, "main"))
			}
		})
	}
}
