package memory_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

const megabyte = 1 << 20

// What large messages have taken goes back to the system when they are through; a server that has nothing to do is
// small.
func TestMemoryIsReturnedAfterLargeMessages(t *testing.T) {
	t.Parallel()
	s := serveWrites(t)
	s.write(0, "small")
	before := memory(t, s.pid, resident)
	for id := range 2 {
		s.write(id+1, strings.Repeat("0123456789abcdef", 20*megabyte/16))
	}
	if grown := memory(t, s.pid, mostResident) - before; grown < 40*megabyte {
		t.Errorf("the messages have taken %d MB; there is nothing to give back", grown/megabyte)
	}
	hosttest.WaitUntil(t, "the memory is given back",
		func() bool { return memory(t, s.pid, resident)-before < 60*megabyte })
}

// writing is a server that files are written with.
type writing struct {
	t     *testing.T
	pid   int
	in    io.Writer
	lines *bufio.Reader
}

func serveWrites(t *testing.T) *writing {
	t.Helper()
	home := hosttest.TempDir(t)
	cmd := exec.CommandContext(context.Background(), hosttest.ProgramPath("bin/picoclaw"), "mcp")
	cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	s := &writing{t, cmd.Process.Pid, in, bufio.NewReader(stdout)}
	if _, err := io.WriteString(in,
		`{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *writing) write(id int, content string) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a","content":"%s"}}}`+"\n",
		id, content); err != nil {
		s.t.Fatal(err)
	}
	if line, err := s.lines.ReadString('\n'); err != nil || !strings.Contains(line, "File written: a") {
		s.t.Fatalf("%.500s (%v)", line, err)
	}
}

// What a process has in memory, now and at most so far.
const (
	resident     = "VmRSS:"
	mostResident = "VmHWM:"
)

// memory is what a process has in memory, in bytes, with all that it has started.
func memory(t *testing.T, pid int, which string) int {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(dir + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), which)
	if !found {
		t.Fatalf("%s has no %s", dir, which)
	}
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	all := kilobytes << 10
	threads, err := filepath.Glob(dir + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			all += memory(t, pid, which)
		}
	}
	return all
}
