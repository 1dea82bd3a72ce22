package killswitch

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFullDiskCanBeStopped(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	for name, options := range map[string]string{"bytes": "size=8m", "inodes": "size=8m,nr_inodes=8", "no reserve": "size=8m"} {
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
			if name == "no reserve" {
				if err := os.Remove(reserveFilePath(home)); err != nil {
					t.Fatal(err)
				}
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
			why := "it loops"
			if name == "no reserve" {
				why = strings.Repeat(why, 700)
			}
			if err := StopAgent(home, Stop{Time: time.Now(), Why: why}); err != nil {
				t.Fatal(err)
			}
			if stop := ReadStopOfAgent(home, "main"); stop == nil || stop.Time.IsZero() || stop.Why != why && name != "no reserve" {
				t.Errorf("stop %v", stop)
			}
			if was, err := ResumeAgent(home, ""); !was || err != nil || ReadStopOfAgent(home, "main") != nil {
				t.Errorf("take %v %v; stop %v", was, err, ReadStopOfAgent(home, "main"))
			}
		})
	}
}

func TestStopIsWrittenInUnwritableHome(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a home to another user")
	}
	const user = 65534
	home := usedHome(t)
	for path, mode := range map[string]os.FileMode{stoppedFilePath(home): 0o600, reserveFilePath(home): 0} {
		if err := errors.Join(os.Chown(path, user, user), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Dir(home), 0o755), os.Chmod(home, 0o555)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the file system user belongs to the thread
	t.Cleanup(func() { _, _ = unix.SetfsuidRetUid(0); runtime.UnlockOSThread() })
	if _, err := unix.SetfsuidRetUid(user); err != nil {
		t.Fatal(err)
	}
	if err := StopAgent(home, Stop{Time: time.Now(), Why: "it loops"}); err != nil {
		t.Fatal(err)
	}
	if stop := ReadStopOfAgent(home, "main"); stop == nil || stop.Why != "it loops" {
		t.Errorf("stop %v", stop)
	}
	if err := os.Chmod(stoppedFilePath(home), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := ResumeAgent(home, ""); err == nil || !strings.Contains(err.Error(), "chmod u+rw "+stoppedFilePath(home)) {
		t.Errorf("%v; want the remedy", err)
	}
}
