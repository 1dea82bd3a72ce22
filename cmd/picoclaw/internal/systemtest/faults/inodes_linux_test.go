package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// useInodes creates files until all inodes of a disk but some are used, and returns a function that deletes them.
func useInodes(t *testing.T, dir string, free int) (release func()) {
	t.Helper()
	var files []string
	for {
		file := filepath.Join(dir, fmt.Sprint("inode", len(files)))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			break
		}
		files = append(files, file)
	}
	remove := func(files []string) {
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
		}
	}
	remove(files[:free])
	return func() { remove(files[free:]) }
}

func TestCommandThatUsesInodesIsStopped(t *testing.T) {
	t.Parallel()
	home := homeOnDisk(t, "size=64m,nr_inodes=1000")
	_, url := home.StartGateway(t)
	token := home.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	call := func(wanted, tool, arguments string) {
		t.Helper()
		if answer := clitest.CallToolHTTP(t, url+"/mcp", token, tool, arguments, session); !strings.Contains(answer, wanted) {
			t.Errorf("%s %s: %s; want %q", tool, arguments, answer, wanted)
		}
	}
	call("File written", "write_file", `{"path":"a","content":"one"}`)
	call("inodes left", "exec", `{"command":"i=0; while :; do : > f$i; i=$((i+1)); done; sleep 60"}`)
	call("delete files there", "exec", `{"command":"echo x"}`)
	release := useInodes(t, home.Dir, 0)
	call("one", "read_file", `{"path":"a"}`)
	call("no space left", "write_file", `{"path":"a","content":"two"}`)
	call("one", "read_file", `{"path":"a"}`)
	// The host does not start or, if the gateway has just freed an inode, its plugin does not.
	out, code := home.Run(t, "call", "read_file", "path=a")
	wanted := clitest.ExitFailed
	if strings.Contains(out, "register for the kill switch: ") {
		wanted = clitest.ExitStart
	}
	if code != wanted || !strings.Contains(out, "no space left") || !strings.Contains(out, "inodes") {
		t.Errorf("exit code %d, want %d: %s", code, wanted, out)
	}
	expect(t, home, clitest.ExitOK, []string{"All agents are stopped"}, "stop", "--why", "it uses all inodes")
	call("it uses all inodes", "read_file", `{"path":"a"}`)
	expect(t, home, clitest.ExitOK, nil, "start")
	expect(t, home, clitest.ExitOK, []string{"ok: "}, "audit", "verify")
	release()
	files, err := filepath.Glob(filepath.Join(home.Workspace, "f*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	call("x", "exec", `{"command":"echo x"}`)
	call("File written", "write_file", `{"path":"a","content":"three"}`)
	call("one", "undo", `{}`)
	expect(t, home, clitest.ExitOK, []string{"ok: "}, "audit", "verify")
}

func TestHubStartsWhenFullDiskHasRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		used bool
		free int // inodes; -1 for a disk without bytes
	}{
		"no bytes, first start": {false, -1}, "no bytes": {true, -1}, "no inodes": {true, 0}, "few inodes": {true, 3},
		"few inodes, first start": {false, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeOnDisk(t, "size=64m,nr_inodes=500")
			if c.used {
				clitest.StopServer(t, home.StartHub(t))
				expect(t, home, clitest.ExitOK, nil, "hub", "add", "worker", "w1", "--agent", "main", "--out", filepath.Join(home.Dir, "w1"))
			}
			ballast := filepath.Join(home.Dir, "ballast")
			release := func() { _ = os.Remove(ballast) }
			if c.free < 0 {
				_ = os.WriteFile(ballast, make([]byte, 1<<30), 0o600)
			} else {
				release = useInodes(t, home.Dir, c.free)
			}
			expect(t, home, clitest.ExitStart, []string{"no space left", "inodes"}, "hub", "--listen", "127.0.0.1:0")
			release()
			clitest.StopServer(t, home.StartHub(t))
			if c.used {
				expect(t, home, clitest.ExitOK, []string{"w1"}, "hub", "list")
			}
		})
	}
}
