package cron_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// bearer sends a token with requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A job runs in the directories of the client that added it, whose roots are a part of the workspace.
func TestJobsKeepRestrictedPolicy(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.UseFakeModel(t, `, "heartbeat": {"enabled": false}`, clitest.NewToolCallReply("exec", `{"command":"sh try.sh message"}`),
		modeltest.ScriptedReply{Text: "Done."})
	sub := filepath.Join(in.Workspace, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"secret":     "of the workspace\n",
		"sub/try.sh": "pwd > $1.dir; cat ../secret > $1.read; echo x > ../$1.planted; echo tried > $1.done\n",
	} {
		if err := os.WriteFile(filepath.Join(in.Workspace, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := func(args ...string) string {
		t.Helper()
		out, code := in.Run(t, args...)
		if code != 0 {
			t.Fatalf("%q: %s", args, out)
		}
		return out
	}
	good("cron", "add", "wide", "--every", "1h", "--message", "of the whole workspace")

	gateway, url := in.StartGateway(t)
	client := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "1"}, nil)
	client.AddRoots(&sdkmcp.Root{URI: "file://" + sub})
	connection, err := client.Connect(t.Context(), &sdkmcp.StreamableClientTransport{Endpoint: url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(in.GatewayToken(t, "main"))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cron := func(args map[string]any) (text string, failed bool) {
		t.Helper()
		r, err := connection.CallTool(context.Background(), &sdkmcp.CallToolParams{Name: "cron", Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Content[0].(*sdkmcp.TextContent).Text), r.IsError
	}
	for _, args := range []map[string]any{
		{"action": "add", "at_seconds": 1, "name": "command", "command": "sh try.sh command"},
		{"action": "add", "at_seconds": 1, "name": "message", "message": "Try it."},
		{"action": "add", "cron_expr": "0 9 1 1 *", "name": "kept", "message": "x"},
		{"action": "add", "cron_expr": "0 9 1 1 *", "name": "later", "message": "x"},
		{"action": "update", "job_id": "later", "command": "sh try.sh updated"},
		{"action": "update", "job_id": "later", "at_seconds": 1},
	} {
		if text, failed := cron(args); failed {
			t.Fatalf("%v: %s", args, text)
		}
	}
	if text, _ := cron(map[string]any{"action": "list"}); strings.Contains(text, "wide") || !strings.Contains(text, "later") {
		t.Errorf("it lists %s", text)
	}
	for _, action := range []string{"get", "update", "disable", "enable", "remove"} {
		if text, failed := cron(map[string]any{"action": action, "job_id": "wide", "message": "mine"}); !failed ||
			!strings.Contains(text, "there is no job") {
			t.Errorf("%s of a job of the whole workspace: %s", action, text)
		}
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if out := good("cron", "show", "wide"); strings.Contains(out, "within") || strings.Contains(out, "mine") {
		t.Errorf("the job of the whole workspace: %s", out)
	}
	if out := good("cron", "show", "kept"); !strings.Contains(out, "within") || !strings.Contains(out, sub) {
		t.Errorf("it does not say what confines it: %s", out)
	}
	for _, kind := range []string{"command", "message", "updated"} {
		hosttest.WaitUntil(t, kind+" runs", func() bool {
			_, err := os.Stat(filepath.Join(sub, kind+".done"))
			return err == nil
		})
		if dir, err := os.ReadFile(filepath.Join(sub, kind+".dir")); err != nil || string(dir) != sub+"\n" {
			t.Errorf("%s runs in %s (%v)", kind, dir, err)
		}
		if text, _ := os.ReadFile(filepath.Join(sub, kind+".read")); len(text) > 0 {
			t.Errorf("%s has read %s", kind, text)
		}
		if _, err := os.Stat(filepath.Join(in.Workspace, kind+".planted")); err == nil {
			t.Errorf("%s has written outside", kind)
		}
	}
	clitest.StopServer(t, gateway)
}

// A directory that leads elsewhere since then confines a job to nothing that it was meant for.
func TestRestrictedJobDoesNotFollowRenamedDirectory(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"heartbeat": {"enabled": false}}`)
	if out, code := in.Run(t, "cron", "add", "moved", "--every", "1s", "--command", "touch ran"); code != 0 {
		t.Fatal(out)
	}
	other := filepath.Join(in.Workspace, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(in.Workspace, "sub")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(in.Dir, "schedule", "main", "jobs.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	within := fmt.Sprintf(`"within": {"workspace": %[1]q, "paths": [%[1]q]}, "deleteAfterRun"`, filepath.Join(in.Workspace, "sub"))
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), `"deleteAfterRun"`, within, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway, _ := in.StartGateway(t)
	hosttest.WaitUntil(t, "it fails", func() bool {
		out, _ := in.Run(t, "cron", "log", "moved")
		return strings.Contains(out, "leads elsewhere")
	})
	clitest.StopServer(t, gateway)
	if _, err := os.Stat(filepath.Join(other, "ran")); err == nil {
		t.Error("it has run")
	}
}
