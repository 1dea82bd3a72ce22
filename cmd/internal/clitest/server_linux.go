package clitest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/pidfile"
)

// StartMCPServer starts `picoclaw mcp --http` and returns it with its URL and token.
func (i Home) StartMCPServer(t *testing.T, args ...string) (server *exec.Cmd, url, token string) {
	t.Helper()
	server = i.Command(hosttest.ProgramPath("bin/picoclaw"), append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)...)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = server.Start(); err != nil {
		t.Fatal(err)
	}
	// Its plugins end with it only if it ends in order; what they have open can't be removed before.
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "serving MCP at ") {
		t.Fatalf("the server says %q, %v", line, err)
	}
	running, err := pidfile.ReadPidFileWithCheck(i.Dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(i.Dir, "mcp-token"))
	if err != nil && len(args) == 0 {
		t.Fatal(err)
	}
	return server, running.Address, strings.TrimSpace(string(text))
}

// StopServer sends SIGTERM to a server, and checks that its exit code is 0.
func StopServer(t *testing.T, server *exec.Cmd) {
	t.Helper()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("told to stop, the server has ended with %v", err)
	}
}

// StartWorker starts a worker, and returns when the worker serves the given number of agents.
func (i Home) StartWorker(t *testing.T, fleet string, agents int, args ...string) *exec.Cmd {
	t.Helper()
	const sign = " serves agent "
	cmd := i.StartPicoclaw(t, sign, append([]string{"worker", "--fleet", fleet}, args...)...)
	hosttest.WaitUntil(t, "the worker has its agents", func() bool {
		return strings.Count(cmd.Stderr.(*OutputBuffer).String(), sign) >= agents
	})
	return cmd
}

// StartGateway starts a gateway and returns it with its URL.
func (i Home) StartGateway(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	const sign = "the gateway serves at "
	cmd := i.StartPicoclaw(t, sign, append([]string{"gateway", "--port", "0"}, args...)...)
	_, url, _ := strings.Cut(cmd.Stderr.(*OutputBuffer).String(), sign)
	url, _, _ = strings.Cut(url, "\n")
	return cmd, url
}

// GatewayToken returns an agent's token for the gateway.
func (i Home) GatewayToken(t *testing.T, agent string) string {
	t.Helper()
	out, code := i.Run(t, "gateway", "token", "--agent", agent)
	if code != 0 {
		t.Fatal(out)
	}
	return strings.TrimSpace(out)
}

// StartHub starts a hub on a free port.
func (i Home) StartHub(t *testing.T) *exec.Cmd {
	t.Helper()
	return i.StartPicoclaw(t, "the hub serves at ", "hub", "--listen", "127.0.0.1:0")
}

// StartPicoclaw starts picoclaw and returns when its log contains sign, or at once if sign is empty.
func (i Home) StartPicoclaw(t *testing.T, sign string, args ...string) *exec.Cmd {
	t.Helper()
	return StartCommand(t, i.Command(i.Program, args...), sign)
}

// StartCommand is like [Home.StartPicoclaw] for any command. Its Stderr is an [OutputBuffer].
func StartCommand(t *testing.T, cmd *exec.Cmd, sign string) *exec.Cmd {
	t.Helper()
	said := &OutputBuffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			StopServer(t, cmd)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Args[1], said)
		}
	})
	if sign == "" {
		return cmd
	}
	hosttest.WaitUntil(t, fmt.Sprintf("%v says %q", cmd.Args, sign), func() bool {
		_, rest, found := strings.Cut(said.String(), sign)
		return found && strings.Contains(rest, "\n")
	})
	return cmd
}

// OutputBuffer collects the output of a program. It may be used concurrently.
type OutputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *OutputBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *OutputBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
