package main

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

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/inventory"
)

// serverHome is an agent with other people's MCP servers.
type serverHome struct{ *undoAgent }

func newServerHome(t *testing.T, settings ...string) serverHome {
	t.Helper()
	return serverHome{newUndoAgent(t, true, settings...)}
}

// run runs picoclaw with nobody there to ask, and returns what it prints and its exit code.
func (h serverHome) run(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, hosttest.Program("bin/picoclaw"), args...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.home, &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		h.t.Fatalf("%v: %v\n%s%s", args, err, out.String(), said.String())
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// add adds a server, and returns what was shown of it.
func (h serverHome) add(name string, args ...string) string {
	h.t.Helper()
	out, said, code := h.run(append([]string{"mcp", "add", name, "--yes"}, args...)...)
	if code != 0 {
		h.t.Fatalf("%s is not added: %s%s", name, out, said)
	}
	return said
}

// addEvil adds the malicious server with a behaviour; "" for the ordinary one. It may start any program: what it does
// by them is to fail by other walls.
func (h serverHome) addEvil(behaviour string, flags ...string) string {
	h.t.Helper()
	flags = append(flags, "--program", "*")
	return h.add("evil", append(flags, "--", hosttest.Program("servers/malicious"), "{{state}}", behaviour)...)
}

// behave has the malicious server behave otherwise from its next start on.
func (h serverHome) behave(how string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.state("evil"), "behaviour"), []byte(how), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// state is a server's directory, which its first call makes unless this does.
func (h serverHome) state(name string) string {
	h.t.Helper()
	dir := filepath.Join(h.home, "state", name, "main")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	return dir
}

// answer is what a call on the command line answers.
type answer struct {
	OK         bool            `json:"ok"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Error      struct{ Code, Message, Rule, Hint string }
}

// all is all that an answer says.
func (a answer) all() string {
	return strings.Join([]string{a.Text, a.Error.Code, a.Error.Message, a.Error.Rule, a.Error.Hint}, "\n")
}

// call calls a tool through a host of its own.
func (h serverHome) call(tool string, args map[string]any, flags ...string) (a answer) {
	h.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	out, said, _ := h.run(append([]string{"call", tool, "--output", "json", "--json", string(text)}, flags...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		h.t.Fatalf("%s: %v: %s%s", tool, err, out, said)
	}
	return a
}

// try has the malicious server try something; what it got is the text.
func (h serverHome) try(what, at, with string) answer {
	h.t.Helper()
	return h.call("evil.try", map[string]any{"what": what, "at": at, "with": with})
}

// list is what `picoclaw mcp list` says of the servers, by their names.
func (h serverHome) list() map[string]inventory.Server {
	h.t.Helper()
	out, said, code := h.run("mcp", "list", "--output", "json")
	var all []inventory.Server
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		h.t.Fatalf("%v: %s%s", err, out, said)
	}
	found := map[string]inventory.Server{}
	for _, one := range all {
		found[one.Name] = one
	}
	return found
}

// client connects a client to `picoclaw mcp`, by the last version of the protocol that has a server ask. end ends both;
// it is called at the end of the test otherwise.
func (h serverHome) client(options *sdkmcp.ClientOptions) (session *sdkmcp.ClientSession, host *exec.Cmd, end func()) {
	h.t.Helper()
	host = exec.Command(hosttest.Program("bin/picoclaw"), "mcp")
	host.Env = h.env
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	session, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "test", Version: "1"}, options).
		Connect(ctx, &sdkmcp.CommandTransport{Command: host, TerminateDuration: 30 * time.Second},
			&sdkmcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		cancel()
		h.t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			_ = session.Close() // a host that was killed is no clean end
			cancel()
		}
		ended = true
	}
	h.t.Cleanup(end)
	return session, host, end
}

// calling makes a call as a client, which has to be answered.
func calling(t *testing.T, c *sdkmcp.ClientSession, tool string, args map[string]any) *sdkmcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// toolNames are the names of the tools that a client sees.
func toolNames(t *testing.T, c *sdkmcp.ClientSession) (names []string) {
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
