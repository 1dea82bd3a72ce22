//go:build long

package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// fillDisk fills the disk of a directory, and keeps it full until the function that is returned frees it.
func fillDisk(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stop, full := make(chan struct{}), make(chan struct{})
	var filling sync.WaitGroup
	filling.Go(func() {
		size := 64 << 10
		for reported := false; ; {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := f.Write(make([]byte, size)); err == nil {
				continue
			}
			if size = max(size/2, 1); size == 1 {
				if !reported {
					close(full)
					reported = true
				}
				time.Sleep(time.Millisecond)
			}
		}
	})
	<-full
	return func() {
		close(stop)
		filling.Wait()
		if err := unix.Unlink(name); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A hub whose disk was full serves again when there is room, and forgets no call that was answered.
func TestHubRecoversFromFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	home := clitest.NewHome(t)
	dir := filepath.Join(home.Dir, "hub")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	p := playOn(t, home)
	for i := range 4 {
		p.callers.Go(func() { p.keepWriting(fmt.Sprint("c", i)) })
	}
	ended := sync.OnceFunc(func() { close(p.over); p.callers.Wait() })
	defer ended()
	p.madeSince(t)
	for cycle := range 3 {
		free := fillDisk(t, dir)
		hosttest.WaitUntil(t, "status has the reason", func() bool {
			out, code := p.front.Run(t, "fleet", "status", "--fleet", filepath.Join(p.hub.Dir, "looking.fleet"))
			return code != clitest.ExitOK && strings.Contains(out, "the hub's store can't be written: no space left on device")
		})
		for name, w := range p.workers {
			hosttest.WaitUntil(t, "worker "+name+" reports the full disk", func() bool {
				text := w.cmd.Stderr.(*clitest.OutputBuffer).String()
				_, reason, _ := strings.Cut(text, "say in the fleet that the worker "+name+" lives: ")
				return strings.Count(reason, "the hub's store can't be written: no space left on device") > cycle
			})
		}
		free()
		p.madeSince(t)
	}
	ended()
	p.check(t)
}
