package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/pidfile"
)

func TestHTTPRejectsUnauthorizedClients(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	_, url, token := in.StartMCPServer(t)
	port := url[strings.LastIndex(url, ":")+1 : strings.LastIndex(url, "/")]
	for name, c := range map[string]struct {
		token  string
		header map[string]string
		want   int
	}{
		"with the token":             {token, nil, 200},
		"by another name of this":    {token, map[string]string{"Host": "localhost:" + port}, 200},
		"by IPv6":                    {token, map[string]string{"Host": "[::1]:" + port}, 200},
		"from its own page":          {token, map[string]string{"Origin": "http://127.0.0.1:" + port}, 200},
		"without a token":            {"", nil, 401},
		"with another token":         {token + "x", nil, 401},
		"with a part of the token":   {token[:51], nil, 401},
		"with another scheme":        {token, map[string]string{"Authorization": "Basic " + token}, 401},
		"by a name pointed here":     {token, map[string]string{"Host": "attacker.example:" + port}, 403},
		"by a name like localhost":   {token, map[string]string{"Host": "localhost.attacker.example"}, 403},
		"by a number with a name":    {token, map[string]string{"Host": "127.0.0.1.attacker.example"}, 403},
		"from another page":          {token, map[string]string{"Origin": "https://attacker.example"}, 403},
		"from a page on this":        {token, map[string]string{"Origin": "http://localhost:3000"}, 403},
		"from a page without origin": {token, map[string]string{"Origin": "null"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, _ := clitest.PostMCP(t, url, c.token, clitest.InitializeMessage, c.header)
			if status != c.want || status != 200 && !strings.Contains(answer, `"message"`) {
				t.Errorf("%d %s; want %d", status, answer, c.want)
			}
		})
	}
}

func TestInvalidHTTPRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	_, url, token := in.StartMCPServer(t)
	session := clitest.OpenHTTPSession(t, url, token)
	for name, c := range map[string]struct {
		message, want string
		status        int
	}{
		"nothing":     {"", "-32700", 400},
		"garbage":     {"garbage", "-32700", 400},
		"half":        {`{"jsonrpc":"2.0"`, "-32700", 400},
		"half a list": {`[{"jsonrpc":"2.0"`, "-32600", 400},
		"no message":  {`{"a":1}`, "-32600", 400},
		"deep":        {strings.Repeat("[", 100_000), "-32600", 400},
		"oversized": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 50<<20) + `"}`, "send less at a time",
			413},
		"no method":   {`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "no/such", 400},
		"no tool":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`, "-32602", 200},
		"no params":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, "-32602", 200},
		"no messages": {`[]`, "-32600", 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, _ := clitest.PostMCP(t, url, token, c.message, session)
			if status != c.status || !strings.Contains(answer, c.want) {
				t.Errorf("%d %.300s; want %d and %s", status, answer, c.status, c.want)
			}
			if status, answer, _ := clitest.PostMCP(t, url, token, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, session); status != 200 {
				t.Errorf("then a ping is answered with %d %s", status, answer)
			}
		})
	}
	if status, _, _ := clitest.PostMCP(t, url, token, `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		map[string]string{"Mcp-Session-Id": "made up"}); status != 404 {
		t.Errorf("a session that there is not: %d", status)
	}
}

// begin has a session call a command that runs until it is ended. answered is closed when the call is, in whatever way.
func begin(t *testing.T, in clitest.Home, url, token string, session map[string]string) (pid int,
	answered <-chan struct{}) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"command":"echo $$ > pid; exec sleep 3053"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session["Mcp-Session-Id"]}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()
	hosttest.WaitUntil(t, "the command runs", func() bool {
		text, _ := os.ReadFile(filepath.Join(in.Workspace, "pid"))
		pid, _ = strconv.Atoi(string(bytes.TrimSpace(text)))
		return pid != 0
	})
	return pid, done
}

// A server that is told to stop ends what its clients have started, and leaves nothing that says it still ran.
func TestStoppedHTTPServerCleansUp(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	server, url, token := in.StartMCPServer(t)
	session := clitest.OpenHTTPSession(t, url, token)
	pid, answered := begin(t, in, url, token, session)
	// Another one can't start meanwhile, and says which one is there.
	second := in.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp", "--http", "127.0.0.1:0")
	out, err := second.CombinedOutput()
	if err == nil || second.ProcessState.ExitCode() != clitest.ExitStart || !strings.Contains(string(out),
		strconv.Itoa(server.Process.Pid)) {
		t.Errorf("a second server: %v %s", err, out)
	}
	clitest.StopServer(t, server)
	<-answered
	hosttest.WaitUntil(t, "the command has ended", func() bool { return !hosttest.IsProcessAlive(pid) })
	if _, err := os.Stat(filepath.Join(in.Dir, pidfile.FileName)); err == nil {
		t.Error("the pid file is still there")
	}
}

// Ending a session ends its calls; nobody waits for them.
func TestSessionEndCancelsCalls(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	_, url, token := in.StartMCPServer(t)
	session := clitest.OpenHTTPSession(t, url, token)
	pid, answered := begin(t, in, url, token, session)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Mcp-Session-Id": {session["Mcp-Session-Id"]}}
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("%v %+v", err, response)
	}
	_ = response.Body.Close()
	<-answered
	hosttest.WaitUntil(t, "the command has ended", func() bool { return !hosttest.IsProcessAlive(pid) })
}

func TestTokenFileIsPrivate(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	server, _, first := in.StartMCPServer(t)
	kept := filepath.Join(in.Dir, "mcp-token")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 || len(first) < 40 {
		t.Errorf("%v %v, %d characters", info.Mode(), err, len(first))
	}
	clitest.StopServer(t, server)
	server, url, again := in.StartMCPServer(t)
	if again != first {
		t.Error("the token is another one after a restart")
	}
	// The agent that is served can't read it.
	session := clitest.OpenHTTPSession(t, url, first)
	for _, call := range []string{
		`{"name":"read_file","arguments":{"path":"` + kept + `"}}`,
		`{"name":"exec","arguments":{"command":"cat ../mcp-token"}}`,
		`{"name":"exec","arguments":{"command":"cat ../mcp-to\"\"ken || true"}}`,
	} {
		_, answer, _ := clitest.PostMCP(t, url, first, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":`+call+`}`, session)
		if !json.Valid([]byte(call)) || strings.Contains(answer, first) || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s: %s", call, answer)
		}
	}
	if err := os.Rename(kept, kept+".away"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := clitest.PostMCP(t, url, first, clitest.InitializeMessage, nil); status != http.StatusUnauthorized {
		t.Errorf("without the token file: %d", status)
	}
	clitest.StopServer(t, server)

	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open":    {strings.Repeat("x", 40), 0o644, "chmod 600"},
		"short":   {"secret", 0o600, "16 to 512"},
		"empty":   {"", 0o600, "16 to 512"},
		"several": {strings.Repeat("x", 20) + "\n" + strings.Repeat("y", 20), 0o600, "16 to 512"},
	} {
		file := filepath.Join(in.Dir, name)
		if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		out, err := in.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp", "--http", "127.0.0.1:0", "--token-file",
			file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || c.text != "" && strings.Contains(string(out), c.text) {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	given := filepath.Join(in.Dir, "given")
	if err := os.WriteFile(given, []byte("the.operators-own_token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, url, _ = in.StartMCPServer(t, "--token-file", given)
	clitest.OpenHTTPSession(t, url, "the.operators-own_token")
}
