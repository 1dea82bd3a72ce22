package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// Control commands have deadlines: a gateway that is paused does not make them hang.
func TestControlCommandsReportPausedGateway(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	home.WriteConfig(t, `{"gateway": {"console": true}}`)
	server, url := home.StartGateway(t)
	token := home.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	answered := make(chan string, 1)
	go func() {
		answered <- clitest.CallToolHTTP(t, url+"/mcp", token, "exec", `{"command":"touch made"}`, session)
	}()
	id := home.AwaitApprovalRequests(t, 1)[0].ID
	if err := server.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	paused := fmt.Sprintf("the gateway (process %d) does not answer", server.Process.Pid)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{clitest.ExitFailed, paused, []string{"gateway", "status"}},
		{clitest.ExitFailed, paused, []string{"gateway", "status", "--output", "json"}},
		{clitest.ExitFailed, paused, []string{"gateway", "reload"}},
		{clitest.ExitFailed, paused, []string{"console"}},
		{clitest.ExitOK, paused, []string{"status"}},
		{clitest.ExitOK, paused, []string{"approvals"}},
		{clitest.ExitOK, id, []string{"approvals"}},
		{clitest.ExitOK, "touch made", []string{"approvals", "show", id}},
		{clitest.ExitFailed, "does not answer", []string{"approvals", "allow", id}},
		{clitest.ExitFailed, "does not answer", []string{"approvals", "deny", id}},
		{clitest.ExitFailed, fmt.Sprintf("picoclaw process %d may still run", server.Process.Pid), []string{"stop"}},
		{clitest.ExitOK, paused, []string{"start"}},
	} {
		cmd := home.Command("timeout", append([]string{"30", home.Program}, c.args...)...)
		out, _ := cmd.CombinedOutput() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %d %s; want %d %q", c.args, code, out, c.code, c.want)
		}
		t.Logf("%v: %s", c.args, out)
	}
	if err := server.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if out, code := home.Run(t, "gateway", "status"); code != clitest.ExitOK {
		t.Errorf("a gateway that goes on: %d %s", code, out)
	}
	if out, code := home.Run(t, "approvals", "deny", id); code != clitest.ExitOK {
		t.Errorf("a call of a gateway that goes on: %d %s", code, out)
	}
	<-answered
}

func TestRemovedTokenIsRefused(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	_, url := home.StartGateway(t)
	old, path := home.GatewayToken(t, "main"), filepath.Join(home.Dir, "tokens", "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", old)
	status := func(token string, header map[string]string) int {
		t.Helper()
		status, _, _ := clitest.PostMCP(t, url+"/mcp", token, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header)
		return status
	}
	if got := status(old, session); got != http.StatusOK {
		t.Fatalf("with the token: %d", got)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if got := status(old, session); got != http.StatusUnauthorized {
		t.Errorf("without the token file: %d", got)
	}
	if got := status("", session); got != http.StatusUnauthorized {
		t.Errorf("an empty token without the token file: %d", got)
	}
	if err := os.WriteFile(path, []byte("another-token-of-the-agent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := status(old, session); got != http.StatusUnauthorized {
		t.Errorf("with the replaced token: %d", got)
	}
	if got := status("another-token-of-the-agent", session); got != http.StatusOK {
		t.Errorf("with the new token: %d", got)
	}
}

func TestSlowRequestBodiesAreCut(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	_, url := home.StartGateway(t)
	address, token := strings.TrimPrefix(url, "http://"), home.GatewayToken(t, "main")
	clitest.OpenHTTPSession(t, url+"/mcp", token)
	var all sync.WaitGroup
	for _, request := range []string{"POST /mcp HTTP/1.1\r\nAuthorization: Bearer " + token, "POST /mcp HTTP/1.1", "GET /health HTTP/1.1",
		"POST /nowhere HTTP/1.1"} {
		for _, length := range []string{"Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
			all.Go(func() {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				_ = conn.SetReadDeadline(time.Now().Add(45 * time.Second))
				if _, err = io.WriteString(conn, request+"\r\nHost: localhost\r\n"+length); err == nil {
					_, err = io.Copy(io.Discard, conn)
				}
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Errorf("%.20s, %.20s: the connection stays open", request, length)
				}
			})
		}
	}
	all.Wait()
}

func TestStatusNamesLostSocket(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gateway.sock", "gateway.key"} {
		home := clitest.NewHome(t)
		server, _ := home.StartGateway(t)
		if err := os.Remove(filepath.Join(home.Dir, name)); err != nil {
			t.Fatal(err)
		}
		out, code := home.Run(t, "gateway", "status")
		if code != clitest.ExitFailed || !strings.Contains(out, fmt.Sprintf("process %d ", server.Process.Pid)) || !strings.Contains(out, "gateway.sock") {
			t.Errorf("without %s: %d %s", name, code, out)
		}
	}
}
