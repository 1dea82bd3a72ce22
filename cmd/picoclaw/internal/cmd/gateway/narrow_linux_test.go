package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// A directory in the URL confines the session, and a token is needed before anything is looked up.
func TestURLRestrictsToDirectory(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	for name, text := range map[string]string{"docs/a": "inside", "secret": "hidden text"} {
		path := filepath.Join(in.Workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(in.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	server, url := in.StartGateway(t)
	defer clitest.StopServer(t, server)
	token := in.GatewayToken(t, "main")
	for path, want := range map[string]int{"/mcp/main/docs": 200, "/mcp/main/none": 404, "/mcp/main/secret": 404, "/mcp/main/link": 404,
		"/mcp/main/docs%2f..%2f..": 404, "/mcp/main/%2fetc": 404} {
		if status, answer, _ := clitest.PostMCP(t, url+path, token, clitest.InitializeMessage, nil); status != want {
			t.Errorf("%s: %d %s; want %d", path, status, answer, want)
		}
		if status, answer, _ := clitest.PostMCP(t, url+path, "another-token-of-some-length", clitest.InitializeMessage, nil); status != 401 {
			t.Errorf("%s with another token: %d %s", path, status, answer)
		}
	}
	narrow := url + "/mcp/main/docs"
	session := clitest.OpenHTTPSession(t, narrow, token)
	for arguments, want := range map[string]string{`{"path":"a"}`: "inside", `{"path":"../secret"}`: "constraint.paths",
		`{"path":"` + filepath.Join(in.Workspace, "secret") + `"}`: "constraint.paths"} {
		if answer := clitest.CallToolHTTP(t, narrow, token, "read_file", arguments, session); !strings.Contains(answer, want) {
			t.Errorf("%s: got %s, want %s", arguments, answer, want)
		}
	}
	if answer := clitest.CallToolHTTP(t, narrow, token, "exec", `{"command":"cat ../secret"}`, session); strings.Contains(answer, "hidden text") {
		t.Errorf("a command reads %s", answer)
	}
}
