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

// ServeMCP starts `picoclaw mcp --http` and returns it with its URL and token.
func (i Home) ServeMCP(t *testing.T, args ...string) (server *exec.Cmd, url, token string) {
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

// Stop sends SIGTERM to a server, and checks that it exits with 0.
func Stop(t *testing.T, server *exec.Cmd) {
	t.Helper()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("told to stop, the server has ended with %v", err)
	}
}

// StartWorker starts a worker, and returns it when it serves as many agents.
func (i Home) StartWorker(t *testing.T, fleet string, agents int, args ...string) *exec.Cmd {
	t.Helper()
	const sign = " serves agent "
	cmd := i.Start(t, sign, append([]string{"worker", "--fleet", fleet}, args...)...)
	hosttest.WaitUntil(t, "the worker has its agents", func() bool {
		return strings.Count(cmd.Stderr.(*Output).String(), sign) >= agents
	})
	return cmd
}

// StartGateway starts a gateway and returns it with its URL.
func (i Home) StartGateway(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	const sign = "the gateway serves at "
	cmd := i.Start(t, sign, append([]string{"gateway", "--port", "0"}, args...)...)
	_, url, _ := strings.Cut(cmd.Stderr.(*Output).String(), sign)
	url, _, _ = strings.Cut(url, "\n")
	return cmd, url
}

// GatewayToken returns an agent's token.
func (i Home) GatewayToken(t *testing.T, agent string) string {
	t.Helper()
	out, code := i.Run(t, "gateway", "token", "--agent", agent)
	if code != 0 {
		t.Fatal(out)
	}
	return strings.TrimSpace(out)
}

// StartHub starts a hub.
func (i Home) StartHub(t *testing.T) *exec.Cmd {
	t.Helper()
	return i.Start(t, "the hub serves at ", "hub", "--listen", "127.0.0.1:0")
}

// Start starts the home's program, and returns when sign stands in its log; at once without a sign.
func (i Home) Start(t *testing.T, sign string, args ...string) *exec.Cmd {
	t.Helper()
	return StartCommand(t, i.Command(i.Program, args...), sign)
}

// StartCommand is like Start for any command. Its Stderr is an [Output].
func StartCommand(t *testing.T, cmd *exec.Cmd, sign string) *exec.Cmd {
	t.Helper()
	said := &Output{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			Stop(t, cmd)
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

// Output collects what a program prints.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *Output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *Output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
