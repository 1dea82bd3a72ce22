package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// coreRequest is a request of the conformance suite's stateless scenarios, and a part of the response.
type coreRequest struct{ method, params, want string }

// coreRequests are requests of a client with all capabilities.
var coreRequests = []coreRequest{
	{"resources/list", ``, `"uri":"test://static-text"`},
	{"resources/templates/list", ``, `"uriTemplate":"test://template/{id}/data"`},
	{"resources/read", `"uri":"test://static-text"`, `"text":"This is the content of the static text resource."`},
	{"resources/read", `"uri":"test://static-binary"`, `"blob":"iVBOR`},
	{"resources/read", `"uri":"test://template/1%2F2/data"`, `Data for ID: 1/2`},
	{"resources/read", `"uri":"test://template/1/2/data"`, `"code":-32602`},
	{"resources/read", `"uri":"file:///etc/passwd"`, `workspace.outside`},
	{"resources/read", `"uri":"test://none"`, `"uri":"test://none"`},
	{"prompts/list", ``, `{"name":"arg1","description":"first test argument","required":true}`},
	{"prompts/get", `"name":"test_simple_prompt"`, `"text":"This is a simple prompt for testing."`},
	{"prompts/get", `"name":"test_prompt_with_arguments","arguments":{"arg1":"hello","arg2":"b"}`, `arg1='hello', arg2='b'`},
	{"prompts/get", `"name":"test_prompt_with_arguments","arguments":{"arg1":"none","arg2":"b"}`, `"code":-32602`},
	{"prompts/get", `"name":"test_prompt_with_arguments","arguments":{"arg1":"hello"}`, `"code":-32602`},
	{"prompts/get", `"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://r"}`, `"resource":{"uri":"test://r"`},
	{"prompts/get", `"name":"test_input_required_result_prompt"`, `"resultType":"input_required"`},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"te"}`,
		`"values":["testValue1","test"]`},
	{"tools/call", `"name":"test_input_required_result_sampling"`, `"method":"sampling/createMessage"`},
	{"tools/call", `"name":"test_input_required_result_list_roots"`, `"client_roots":{"method":"roots/list"`},
	{"tools/call", `"name":"test_input_required_result_multiple_inputs"`, `"user_name":{"method":"elicitation/create"`},
	{"tools/call", `"name":"resource:conformance.static_text"`, `"error"`},
}

// The scenarios of the conformance suite that need no Node.js, against `picoclaw mcp --http`.
func TestStatelessConformanceCore(t *testing.T) {
	t.Parallel()
	picoclaw, env := buildFixture(t)
	server := serveFixture(t, picoclaw, env)
	const all = `{"elicitation":{},"sampling":{},"roots":{}}`
	for _, r := range coreRequests {
		if got := coreAnswer(t, server, all, r); !strings.Contains(got, r.want) {
			t.Errorf("%s {%s}: got %s, want %s", r.method, r.params, got, r.want)
		}
	}
	for _, r := range []coreRequest{
		{"server/discover", ``, `"resources":{"listChanged":true,"subscribe":true}`},
		{"server/discover", ``, `"completions":{}`},
		{"tools/call", `"name":"test_missing_capability"`, `"code":-32021`},
		{"tools/call", `"name":"test_missing_capability"`, `"requiredCapabilities":{"sampling":{}}`},
	} {
		if got := coreAnswer(t, server, `{}`, r); !strings.Contains(got, r.want) {
			t.Errorf("%s {%s}: got %s, want %s", r.method, r.params, got, r.want)
		}
	}
	sampling := coreRequest{"tools/call", `"name":"test_input_required_result_capabilities"`, ""}
	if got := coreAnswer(t, server, `{"sampling":{}}`, sampling); strings.Contains(got, "elicitation/create") ||
		!strings.Contains(got, "sampling/createMessage") {
		t.Errorf("a client without elicitation gets %s", got)
	}
	answerAll(t, server, all)
	checkWithoutSettings(t, picoclaw, env)
	log, err := os.ReadFile(filepath.Join(strings.TrimPrefix(env[0], "HOME="), "logs", "audit.jsonl"))
	for _, tool := range []string{`"resource:conformance.static_text"`, `"prompt:conformance.test_simple_prompt"`} {
		if err != nil || !strings.Contains(string(log), tool) {
			t.Errorf("the audit log does not have %s, %v:\n%s", tool, err, log)
		}
	}
}

// answerAll answers three questions of one call at once.
func answerAll(t *testing.T, server, capabilities string) {
	t.Helper()
	r := coreRequest{"tools/call", `"name":"test_input_required_result_multiple_inputs"`, ""}
	var asked struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(coreAnswer(t, server, capabilities, r)), &asked); err != nil {
		t.Fatal(err)
	}
	const model = `"greeting":{"role":"assistant","model":"m","content":{"type":"text","text":"Good day"}}`
	const others = `"user_name":{"action":"accept","content":{"name":"Ada"}},"client_roots":{"roots":[{"uri":"file:///r"}]}`
	state := fmt.Sprintf(`,"requestState":%q,"inputResponses":{`, asked.Result.RequestState)
	again := r
	again.params += state + others + `}`
	if got := coreAnswer(t, server, capabilities, again); !strings.Contains(got, `"input_required"`) {
		t.Errorf("a missing answer: %s", got)
	} else if err := json.Unmarshal([]byte(got), &asked); err != nil {
		t.Fatal(err)
	}
	again.params = r.params + fmt.Sprintf(`,"requestState":%q,"inputResponses":{`, asked.Result.RequestState) + others + `,` + model + `}`
	got := coreAnswer(t, server, capabilities, again)
	for _, part := range []string{"Ada", "Good day", "file:///r"} {
		if !strings.Contains(got, part) {
			t.Errorf("the result lacks %s: %s", part, got)
		}
	}
}

// checkWithoutSettings checks that without settings nothing but tools is offered.
func checkWithoutSettings(t *testing.T, picoclaw string, env []string) {
	t.Helper()
	home := t.TempDir()
	env = append([]string{"HOME=" + home, "PICOCLAW_HOME=" + home}, env[2:]...)
	for i, variable := range env {
		if strings.HasPrefix(variable, "PICOCLAW_TOOLS_") {
			name, _, _ := strings.Cut(variable, "=")
			env[i] = name + "=another.*"
		}
	}
	server := serveFixture(t, picoclaw, env)
	for _, r := range []coreRequest{
		{"resources/list", ``, `"resources":[]`},
		{"prompts/list", ``, `"prompts":[]`},
		{"resources/read", `"uri":"test://static-text"`, `"code":-32602`},
		{"prompts/get", `"name":"test_simple_prompt"`, `"code":-32602`},
		{"tools/call", `"name":"test_input_required_result_sampling"`, `add \"conformance.test_input_required_result_sampling\" to tools.sampling`},
	} {
		if got := coreAnswer(t, server, `{"sampling":{}}`, r); !strings.Contains(got, r.want) {
			t.Errorf("%s {%s}: got %s, want %s", r.method, r.params, got, r.want)
		}
	}
}

// coreAnswer sends a stateless request, and returns the response.
func coreAnswer(t *testing.T, server, capabilities string, r coreRequest) string {
	t.Helper()
	params := r.params
	if params != "" {
		params = "," + params
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s}%s}}`, r.method, capabilities, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Name, URI string }
	_ = json.Unmarshal([]byte("{"+r.params+"}"), &named) // requests without a name have no header
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": r.method, "Mcp-Name": named.Name + named.URI} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"id":1`) {
			return data
		}
	}
	return string(text)
}
