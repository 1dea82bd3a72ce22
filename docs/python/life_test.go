//go:build linux

package python_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// play is a picoclaw in the middle of a call of tick.
type play struct {
	*exec.Cmd
	log     *bufio.Reader
	plugins []int // the processes of the plugin
}

// start has picoclaw call tick and returns when it is ticking.
func start(t *testing.T, b sdktest.Binary) *play {
	t.Helper()
	home := hosttest.TempDir(t)
	plugin := filepath.Join(home, "build", "words") // of this test alone, so that its processes can be told
	work := filepath.Join(home, "work")
	if err := os.CopyFS(plugin, os.DirFS(b.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(plugin, "words"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"isolation": map[string]any{"enabled": b.Isolation},
		"agents":    map[string]any{"agents": []any{map[string]any{"id": "main", "workspace": work}}},
		"plugins": map[string]any{"words": map[string]any{"dev": plugin,
			"grants": map[string]any{"workspace": "ro", "exec": true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &play{Cmd: exec.Command(hosttest.ProgramPath("bin/picoclaw"), "--log-level", "info", "call", "tick", "times=100000",
		"every_ms=10")}
	p.Env = []string{"PICOCLAW_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.log = bufio.NewReader(stderr)
	p.await(t, "ticking")
	if p.plugins = processes(t, plugin); len(p.plugins) == 0 {
		t.Fatal("the plugin ticks, and no process of it is found")
	}
	return p
}

// await reads the log up to a line with a text.
func (p *play) await(t *testing.T, text string) {
	t.Helper()
	var read bytes.Buffer
	for {
		line, err := p.log.ReadString('\n')
		read.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("picoclaw's log ends without %q (%v):\n%s", text, err, read.String())
		}
	}
}

// processes lists those that have a path on their command line, picoclaw itself left out.
func processes(t *testing.T, path string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, name := range lines {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte(path)) {
			continue // it has ended, or is another
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func (p *play) gone(t *testing.T) {
	t.Helper()
	hosttest.WaitUntil(t, "the plugin has ended", func() bool {
		for _, pid := range p.plugins {
			if hosttest.IsProcessAlive(pid) {
				return false
			}
		}
		return true
	})
}

// A call that is given up is noticed by the tool, at once.
func TestCancelling(t *testing.T) {
	eachWay(t, func(t *testing.T, b sdktest.Binary) {
		p := start(t, b)
		if err := p.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.await(t, "cancelled")
		_ = p.Wait()
		p.gone(t)
	})
}

// Whatever becomes of the host, the plugin does not outlive it.
func TestTheHostIsKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, b sdktest.Binary) {
		p := start(t, b)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		p.gone(t)
	})
}
