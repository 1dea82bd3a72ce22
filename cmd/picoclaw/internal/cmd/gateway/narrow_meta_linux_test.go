package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// narrowMeta returns a member of _meta that narrows a session or request, with a comma before it.
func narrowMeta(value string) string { return `,"io.github.picoclaw/narrow":` + value }

// narrowToDocs has the restrictions that checkRestrictions checks.
func narrowToDocs(t *testing.T) string {
	t.Helper()
	tools, err := json.Marshal(strings.Split(restrictedTools, ","))
	if err != nil {
		t.Fatal(err)
	}
	return narrowMeta(fmt.Sprintf(`{"directory":"docs","tools":%s}`, tools))
}

// initialize opens a session with a member of _meta.
func (c *mcpClient) initialize(meta string) (int, string) {
	c.t.Helper()
	message := strings.Replace(clitest.InitializeMessage, `"capabilities":`, `"_meta":{"x":1`+meta+`},"capabilities":`, 1)
	status, answer, header := clitest.PostMCP(c.t, c.url, c.token, message, nil)
	c.session = map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id")}
	return status, answer
}

func TestClientNarrowsItself(t *testing.T) {
	t.Parallel()
	in := newNotesHome(t, slices.Concat(subagentScript, subagentScript)...)
	server, url := in.StartGateway(t)
	url += "/mcp/main"
	full := in.GatewayToken(t, "main")
	session := mcpClient{t: t, url: url, token: full}
	if _, answer := session.initialize(narrowToDocs(t)); !strings.Contains(answer, "You work in "+in.Workspace+"/docs;") {
		t.Errorf("the instructions do not name the directory: %s", answer)
	}
	session.checkRestrictions(in, "2025-06-18")
	request := mcpClient{t: t, url: url, token: full, meta: narrowToDocs(t)}
	request.checkRestrictions(in, "2026-07-28")
	checkSubagents(t, in)

	wide := mcpClient{t: t, url: url, token: full}
	read := `"name":"read_file","arguments":{"path":"secret"}`
	if _, answer := wide.send("tools/call", read); !strings.Contains(answer, "hidden text") {
		t.Errorf("a request that is not narrowed: %s", answer)
	}
	for _, value := range []string{`{"directory":".."}`, `{"directory":"/etc"}`, `{"directory":"none"}`, `{"directory":"secret"}`, `{"directory":7}`,
		`{"tools":[]}`, `{"tools":"exec"}`, `{"tools":["[a"]}`, `{"tools":[""]}`, `{}`, `null`, `[]`, `{"dir":"docs"}`, `{"Directory":"docs"}`} {
		for _, c := range []mcpClient{wide, session} {
			c.meta = narrowMeta(value)
			if _, answer := c.send("tools/call", read); !strings.Contains(answer, "-32602") || !strings.Contains(answer, "can't be honoured") {
				t.Errorf("%s: %s", value, answer)
			}
		}
		refused := mcpClient{t: t, url: url, token: full}
		if _, answer := refused.initialize(narrowMeta(value)); !strings.Contains(answer, "-32602") {
			t.Errorf("initialize with %s: %s", value, answer)
		}
		if _, answer := refused.send("tools/call", read); strings.Contains(answer, "hidden text") {
			t.Errorf("a session whose initialize with %s was refused: %s", value, answer)
		}
	}
	// Requests, tokens and URLs narrow further, and never widen.
	session.meta = narrowMeta(`{"directory":".","tools":["*"]}`)
	if _, answer := session.send("tools/call", read); !strings.Contains(answer, "wider than the parent's") {
		t.Errorf("a request with a wider directory: %s", answer)
	}
	session.meta = narrowMeta(`{"tools":["exec","read_*"]}`)
	if _, answer := session.send("tools/list", ""); !strings.Contains(answer, "read_file") || strings.Contains(answer, `"exec"`) ||
		strings.Contains(answer, "list_dir") {
		t.Errorf("a narrower request: %s", answer)
	}
	if _, answer := session.initialize(""); strings.Contains(answer, "error") {
		t.Errorf("another session: %s", answer)
	}
	token, _ := createToken(t, in, "--workspace", "docs", "--tools", "read_file,exec")
	bound := mcpClient{t: t, url: url, token: token, meta: narrowMeta(`{"directory":"` + in.Workspace + `"}`)}
	if _, answer := bound.send("tools/list", ""); !strings.Contains(answer, "wider than the parent's") {
		t.Errorf("a request that is wider than its token: %s", answer)
	}
	bound.meta = narrowMeta(`{"directory":".","tools":["read_file","write_file"]}`)
	if _, answer := bound.send("tools/list", ""); !strings.Contains(answer, "read_file") || strings.Contains(answer, "write_file") ||
		strings.Contains(answer, `"exec"`) {
		t.Errorf("a request with other tools than its token: %s", answer)
	}
	request.meta = narrowMeta(`{"tools":["resource:notes.today"]}`)
	if _, answer := request.send("subscriptions/listen", `"notifications":{"resourceSubscriptions":["notes://diary"]}`); !strings.Contains(answer,
		"not found") {
		t.Errorf("a subscription to a hidden resource: %s", answer)
	}
	clitest.StopServer(t, server)
}

// The answer to an approval question belongs to the narrowing of the call that asked, and to its token.
func TestApprovalBelongsToNarrowing(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	docs := filepath.Join(in.Workspace, "docs")
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	full := in.GatewayToken(t, "main")
	token, _ := createToken(t, in, "--workspace", "docs")
	server, url := in.StartGateway(t)
	c := mcpClient{t: t, url: url + "/mcp/main", token: full}
	call := func(token, meta, answer string) string {
		t.Helper()
		message := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"exec","arguments":{"command":"touch made"},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}` + meta + `}` +
			answer + `}}`
		_, text, _ := clitest.PostMCP(t, c.url, token, message,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "exec"})
		return text
	}
	narrow := narrowMeta(`{"directory":"docs"}`)
	_, state, asked := strings.Cut(call(full, narrow, ""), `"requestState":"`)
	if !asked {
		t.Fatal(state)
	}
	state, _, _ = strings.Cut(state, `"`)
	clitest.StopServer(t, server)
	server, url = in.StartGateway(t)
	c.url = url + "/mcp/main"
	allow := `,"requestState":"` + state + `","inputResponses":{"allow":{"action":"accept","content":{"allow":true}}}`
	for _, other := range []string{call(full, "", allow), call(token, "", allow), call(full, narrowMeta(`{"tools":["exec"]}`), allow)} {
		if !strings.Contains(other, "belongs to another call") {
			t.Errorf("another narrowing or token: %s", other)
		}
	}
	if answer := call(full, narrow, allow); strings.Contains(answer, "error") {
		t.Error(answer)
	}
	if _, err := os.Stat(filepath.Join(docs, "made")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(in.Workspace, "made")); err == nil {
		t.Error("the command has run outside the directory")
	}
	clitest.StopServer(t, server)
}

func TestClientNarrowsItselfOverStdio(t *testing.T) {
	t.Parallel()
	in := newNotesHome(t)
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		cmd := in.Command(in.Program, "mcp")
		call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"../secret"}}}`
		input := strings.Replace(clitest.InitializeMessage, `"capabilities":`, `"_meta":{"x":1`+narrowToDocs(t)+`},"capabilities":`, 1) + "\n" + call
		if version == "2026-07-28" {
			input = strings.Replace(call, `}}}`, `},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{}`+narrowToDocs(t)+`}}}`, 1)
		}
		cmd.Stdin = strings.NewReader(input + "\n")
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "constraint.paths") {
			t.Errorf("%s: %s, %v", version, out, err)
		}
	}
}
