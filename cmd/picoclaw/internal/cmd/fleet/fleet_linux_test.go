package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// startNATS starts a NATS server on this machine.
func startNATS(t *testing.T) (address string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true,
		StoreDir: hosttest.TempDir(t), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not come up")
	}
	return s.ClientURL()
}

// passing is what is another time each time.
var passing = regexp.MustCompile(`"duration_ms":[0-9.]+|20[0-9]{6}T[0-9]{6,}-[a-z0-9]{4}|output/[-0-9.]+\.txt`)

// ran is all that a command says.
func ran(i clitest.Home, args ...string) string {
	cmd := i.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says it
	return passing.ReplaceAllString(fmt.Sprintf("%s\n---\n%s\n---\n%d", &out, &errs, cmd.ProcessState.ExitCode()), "X")
}

func TestACallOnAFleetIsAnsweredAsOneHere(t *testing.T) {
	t.Parallel()
	address := startNATS(t)
	here, elsewhere := clitest.NewHome(t), clitest.NewHome(t)
	here.WriteConfig(t, `{"agents": {"list": [{"id": "main"}, {"id": "reader", "tools": {"disabled": ["exec"]}}]}}`)
	long := strings.Repeat("a line of the file\n", 40_000)
	for name, text := range map[string]string{"a.txt": "one\ntwo & <three>\n\u2028é", "long.txt": long} {
		if err := os.WriteFile(filepath.Join(here.Workspace, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here.StartWorker(t, address, 2, "--name", "one")
	compare := func(agent, output string, calls ...[]string) {
		t.Helper()
		for _, call := range calls {
			args := append([]string{"call", "--agent", agent, "--output", output}, call...)
			want := ran(here, args...)
			got := ran(elsewhere, append(args, "--fleet", address)...)
			if got == want {
				continue
			}
			if again := ran(here, args...); got != again { // the first may have changed what the second finds
				t.Errorf("%s:\n%.400s\nnot\n%.400s", strings.Join(args, " "), got, want)
			}
		}
	}
	compare("main", "json", [][]string{
		{"read_file", "path=a.txt"}, {"read_file", "path=missing.txt"}, {"read_file", "path=long.txt"},
		{"read_file", "path=/etc/passwd"}, {"read_file"}, {"read_file", "--json", "no json"}, {"read_file", "pat=a.txt"},
		{"read_file", "--json", `{"path":"a.txt","path":"b.txt"}`}, {"list_dir", "path=."}, {"file_stat", "path=a.txt"},
		{"write_file", "path=same.txt", "content=same"}, {"write_file", "path=.git/config", "content=same"},
		{"edit_file", "path=a.txt", "old_text=nothing", "new_text=x"}, {"mv", "source=missing", "destination=b"},
		{"cp", "source=a.txt", "destination=a.txt"}, {"grep", "pattern=two"}, {"grep", "pattern=("},
		{"exec", "command=echo no >&2; exit 3"}, {"exec", "command=rm -rf /"}, {"exec", "command=printf '\\377\\000'"},
		{"exec", "command=head -c 900000 /dev/zero | tr '\\0' y"}, {"exec", "command=sleep 5", "timeout=1"},
		{"exec", "command=git push"}, {"nothing"}, {"filesystem.read_file", "path=a.txt"}, {"cron"}, {"history"},
	}...)
	compare("main", "text", [][]string{{"read_file", "path=a.txt"}, {"read_file", "path=/etc/passwd"}, {"read_file"},
		{"exec", "command=echo hi; exit 3"}, {"exec", "command=rm -rf /"}, {"reed_file"}}...)
	compare("reader", "json", [][]string{{"read_file", "path=a.txt"}, {"exec", "command=echo hi"}, {"history"}}...)
	if out := ran(elsewhere, "fleet", "where", "reader", "--fleet", address); out != "one\n\n---\n\n---\n0" {
		t.Error(out)
	}
	if out := ran(elsewhere, "fleet", "status", "--fleet", address); !strings.Contains(out, "served") {
		t.Error(out)
	}
	if out := ran(elsewhere, "call", "--fleet", address, "--agent", "nobody", "read_file", "path=a"); !strings.Contains(out, `no agent "nobody"`) {
		t.Error(out)
	}
	if out := ran(elsewhere, "call", "--fleet", "nats://192.0.2.1:4222", "read_file", "path=a"); !strings.Contains(out, "not encrypted") {
		t.Error(out)
	}
}

func TestTheGatewayOfAFleetAnswersAsOneHere(t *testing.T) {
	t.Parallel()
	address := startNATS(t)
	here, elsewhere := clitest.NewHome(t), clitest.NewHome(t)
	here.WriteConfig(t, `{"agents": {"list": [{"id": "main"}, {"id": "reader", "tools": {"disabled": ["exec"]}}]}}`)
	if err := os.WriteFile(filepath.Join(here.Workspace, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here.StartWorker(t, address, 2)
	_, local := here.StartGateway(t)
	_, remote := elsewhere.StartGateway(t, "--fleet", address)
	for _, agent := range []string{"main", "reader"} {
		near, far := here.GatewayToken(t, agent), strings.TrimSpace(first(elsewhere.Run(t, "gateway", "token", "--fleet", "--agent", agent)))
		if near == far {
			t.Error("two gateways have one token")
		}
		sessions := [2]map[string]string{clitest.OpenHTTPSession(t, local+"/mcp/"+agent, near), clitest.OpenHTTPSession(t, remote+"/mcp/"+agent, far)}
		for _, message := range []string{clitest.InitializeMessage, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"exec","arguments":{"command":"echo hi; exit 2"}}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/etc/shadow"}}}`,
			`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"cron","arguments":{"action":"list"}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"none","arguments":{}}}`,
		} {
			session := sessions
			if message == clitest.InitializeMessage {
				session = [2]map[string]string{}
			}
			_, want, _ := clitest.PostMCP(t, local+"/mcp/"+agent, near, message, session[0])
			_, got, _ := clitest.PostMCP(t, remote+"/mcp/"+agent, far, message, session[1])
			if passing.ReplaceAllString(got, "X") != passing.ReplaceAllString(want, "X") {
				t.Errorf("%s of %s:\n%.600s\nnot\n%.600s", message, agent, got, want)
			}
		}
	}
	if status, _, _ := clitest.PostMCP(t, remote+"/mcp/nobody", "x", clitest.InitializeMessage, nil); status != 404 {
		t.Errorf("an agent that nobody has: %d", status)
	}
	if status, _, _ := clitest.PostMCP(t, remote+"/mcp/main", "x", clitest.InitializeMessage, nil); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, text := clitest.HTTPGet(t, remote+"/ready"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

func first(out string, _ int) string { return out }

// What a person has to allow waits where the workspace is. That a client of the gateway could ask does not matter.
func TestACallOnAFleetWaitsForAYesAtTheWorker(t *testing.T) {
	t.Parallel()
	address := startNATS(t)
	here, elsewhere := clitest.NewHome(t), clitest.NewHome(t)
	here.StartWorker(t, address, 1)
	_, remote := elsewhere.StartGateway(t, "--fleet", address)
	token := strings.TrimSpace(first(elsewhere.Run(t, "gateway", "token", "--fleet", "--agent", "main")))
	session := clitest.OpenHTTPSession(t, remote+"/mcp", token)
	answers := make(chan string, 1)
	arguments, _ := json.Marshal(map[string]string{"command": "touch made x"})
	go func() { answers <- clitest.CallToolHTTP(t, remote+"/mcp", token, "exec", string(arguments), session) }()
	waiting := here.AwaitApprovalRequests(t, 1)
	if out, code := elsewhere.Run(t, "approvals", "allow", waiting[0].ID); code == 0 {
		t.Errorf("the gateway's machine says yes: %s", out)
	}
	if out, code := here.Run(t, "approvals", "deny", waiting[0].ID, "--why", "not today"); code != 0 {
		t.Error(out)
	}
	if answer := <-answers; !strings.Contains(answer, "not today") {
		t.Error(answer)
	}
}
