package mcp_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/login/logintest"
)

// newLoginServer starts an MCP server that requests a login. Its tool returns the login that it sees.
func newLoginServer(t *testing.T) *logintest.Server {
	server := sdkmcp.NewServer(&sdkmcp.Implementation{Name: "far", Version: "1"}, nil)
	sdkmcp.AddTool(server, &sdkmcp.Tool{Name: "show_login"}, func(_ context.Context, r *sdkmcp.CallToolRequest, _ struct{}) (*sdkmcp.CallToolResult, any, error) {
		text := r.Extra.Header.Get("Authorization")
		return &sdkmcp.CallToolResult{Content: []sdkmcp.Content{&sdkmcp.TextContent{Text: "the login is " + text}}}, nil, nil
	})
	return logintest.NewServer(t, sdkmcp.NewStreamableHTTPHandler(func(*http.Request) *sdkmcp.Server { return server }, nil))
}

func TestRemoteServerWithLogin(t *testing.T) {
	t.Parallel()
	s := newLoginServer(t)
	h := mcptest.NewHome(t)
	h.WriteFile("browser", "#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n")
	if err := os.Chmod(filepath.Join(h.Home, "browser"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Env = append(h.Env, "BROWSER="+filepath.Join(h.Home, "browser"))
	h.AddServer("far", "--url", s.MCPURL)
	call := func() mcptest.CallResult { return h.CallTool("far.show_login", map[string]any{}) }
	for range 2 { // with a new token each time
		before := s.Refreshes()
		a := call()
		if !a.OK || !strings.Contains(a.Text, "the login is Bearer ") || s.Refreshes() == before {
			t.Errorf("%s, %d refreshes", a.FullText(), s.Refreshes())
		}
		if strings.Contains(a.Text, s.AccessToken()) {
			t.Errorf("the plugin received the token: %s", a.Text)
		}
	}
	s.Revoke()
	if a := call(); a.OK || !strings.Contains(a.FullText(), "picoclaw mcp login far") {
		t.Errorf("after the end of the login: %s", a.FullText())
	}
	if out, said, code := h.Run("mcp", "login", "far", "--device"); code != 0 || !strings.Contains(said, "with the code ABCD-EFGH") {
		t.Errorf("%d %s%s", code, out, said)
	}
	if a := call(); !a.OK {
		t.Error(a.FullText())
	}
	if out, said, code := h.Run("mcp", "logout", "far"); code != 0 {
		t.Errorf("%s%s", out, said)
	}
	if a := call(); a.OK || !strings.Contains(a.FullText(), "picoclaw mcp login far") {
		t.Errorf("without a login: %s", a.FullText())
	}
	if out, said, code := h.Run("mcp", "login", "far"); code != 0 {
		t.Errorf("%s%s", out, said)
	}
	if out, said, code := h.Run("mcp", "remove", "far", "--yes"); code != 0 {
		t.Errorf("%s%s", out, said)
	}
	if text, err := os.ReadFile(filepath.Join(h.Home, "logins.json")); err != nil || strings.Contains(string(text), "far") {
		t.Errorf("the login is kept: %s%v", text, err)
	}
}
