// Package mcptest supports tests that add third-party MCP servers to picoclaw.
package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/inventory"
)

// Home is an agent's home to which tests add MCP servers.
type Home struct{ *clitest.Agent }

// ServerPrograms are the import paths of test servers by program path, for [clitest.TestNeeds].
var ServerPrograms = map[string]string{
	"servers/malicious":  "github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest/testdata/malicious",
	"servers/everything": "github.com/modelcontextprotocol/go-sdk/examples/server/everything",
	"servers/memory":     "github.com/modelcontextprotocol/go-sdk/examples/server/memory",
}

// NewHome creates a home whose servers run in sandboxes.
func NewHome(t *testing.T, settings ...string) Home {
	t.Helper()
	return Home{clitest.NewAgent(t, true, settings...)}
}

// Run runs picoclaw without a terminal and returns its output and exit code.
func (h Home) Run(args ...string) (stdout, stderr string, code int) {
	h.T.Helper()
	return h.runFor(3*time.Minute, args...)
}

// runFor is Run with another timeout.
func (h Home) runFor(timeout time.Duration, args ...string) (stdout, stderr string, code int) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, hosttest.ProgramPath("bin/picoclaw"), args...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.Env, h.Home, &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		h.T.Fatalf("%v: %v\n%s%s", args, err, out.String(), said.String())
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// AddServer adds a server, and returns the review that `picoclaw mcp add` prints. A download may take minutes.
func (h Home) AddServer(name string, args ...string) string {
	h.T.Helper()
	out, said, code := h.runFor(10*time.Minute, append([]string{"mcp", "add", name, "--yes"}, args...)...)
	if code != 0 {
		h.T.Fatalf("%s is not added: %s%s", name, out, said)
	}
	return said
}

// AddMaliciousServer adds the malicious test server with a behaviour; "" is harmless. The server may start any
// program, so that its attacks reach the sandbox.
func (h Home) AddMaliciousServer(behaviour string, flags ...string) string {
	h.T.Helper()
	flags = append(flags, "--program", "*")
	return h.AddServer("evil", append(flags, "--", hosttest.ProgramPath("servers/malicious"), "{{state}}", behaviour)...)
}

// SetMaliciousServerBehaviour sets the behaviour of the malicious server from its next start on.
func (h Home) SetMaliciousServerBehaviour(how string) {
	h.T.Helper()
	if err := os.WriteFile(filepath.Join(h.CreateStateDir("evil"), "behaviour"), []byte(how), 0o600); err != nil {
		h.T.Fatal(err)
	}
}

// CreateStateDir creates a server's state directory and returns its path.
func (h Home) CreateStateDir(name string) string {
	h.T.Helper()
	dir := filepath.Join(h.Home, "state", name, "main")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.T.Fatal(err)
	}
	return dir
}

// CallResult is the JSON answer of `picoclaw call`.
type CallResult struct {
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Error      struct{ Code, Message, Rule, Hint string }
}

// FullText returns the text, and the error's code, message, rule and hint.
func (a CallResult) FullText() string {
	return strings.Join([]string{a.Text, a.Error.Code, a.Error.Message, a.Error.Rule, a.Error.Hint}, "\n")
}

// CallTool calls a tool through `picoclaw call`.
func (h Home) CallTool(tool string, args map[string]any, flags ...string) (a CallResult) {
	h.T.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		h.T.Fatal(err)
	}
	out, said, _ := h.Run(append([]string{"call", tool, "--output", "json", "--json", string(text)}, flags...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		h.T.Fatalf("%s: %v: %s%s", tool, err, out, said)
	}
	return a
}

// RunAttack makes the malicious server run an attack; the answer's text is the outcome.
func (h Home) RunAttack(what, at, with string) CallResult {
	h.T.Helper()
	return h.CallTool("evil.try", map[string]any{"what": what, "at": at, "with": with})
}

// NewAttackRunner returns a function like [Home.RunAttack] that uses one host for all attacks.
func (h Home) NewAttackRunner() func(what, at, with string) clitest.CallResult {
	h.T.Helper()
	call := h.StartBatch()
	return func(what, at, with string) clitest.CallResult {
		return call(clitest.ToolCall{Tool: "evil.try", Args: map[string]any{"what": what, "at": at, "with": with}})
	}
}

// ListServers returns the servers in `picoclaw mcp list`, by name.
func (h Home) ListServers() map[string]inventory.ServerInfo {
	h.T.Helper()
	out, said, code := h.Run("mcp", "list", "--output", "json")
	var all []inventory.ServerInfo
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		h.T.Fatalf("%v: %s%s", err, out, said)
	}
	found := map[string]inventory.ServerInfo{}
	for _, one := range all {
		found[one.Name] = one
	}
	return found
}

// ConnectClient connects a client to a new `picoclaw mcp` with protocol version 2025-11-25, the last one with
// elicitation requests. end closes both; the test's cleanup calls it too.
func (h Home) ConnectClient(options *sdkmcp.ClientOptions) (session *sdkmcp.ClientSession, host *exec.Cmd, end func()) {
	h.T.Helper()
	host = exec.Command(hosttest.ProgramPath("bin/picoclaw"), "mcp")
	host.Env = h.Env
	ctx, cancel := context.WithTimeout(h.T.Context(), 2*time.Minute)
	session, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "1"}, options).
		Connect(ctx, &sdkmcp.CommandTransport{Command: host, TerminateDuration: 30 * time.Second},
			&sdkmcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		cancel()
		h.T.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			_ = session.Close() // a host that was killed is no clean end
			cancel()
		}
		ended = true
	}
	h.T.Cleanup(end)
	return session, host, end
}

// MustCallTool calls a tool through an MCP client, and fails the test on a protocol error.
func MustCallTool(t *testing.T, c *sdkmcp.ClientSession, tool string, args map[string]any) *sdkmcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// ToolNames returns the sorted names of the tools that a client sees.
func ToolNames(t *testing.T, c *sdkmcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// ResultText returns the contents of a result, one per line; contents other than text as JSON.
func ResultText(r *sdkmcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*sdkmcp.TextContent); ok {
			parts = append(parts, t.Text)
		} else {
			data, _ := json.Marshal(c)
			parts = append(parts, string(data))
		}
	}
	return strings.Join(parts, "\n")
}

// WriteFile writes a file below the home.
func (h Home) WriteFile(name, text string) {
	h.T.Helper()
	at := filepath.Join(h.Home, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		h.T.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		h.T.Fatal(err)
	}
}

// IsProcessRunning reports whether a running process has both texts in its command line.
func IsProcessRunning(one, other string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), one) && strings.Contains(string(text), other) {
			return true
		}
	}
	return false
}
