package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// statelessClient sends requests of protocol version 2026-07-28.
type statelessClient struct {
	t      *testing.T
	server *Server
	url    string
}

// newStatelessClient serves a session over HTTP.
func newStatelessClient(t *testing.T, s toolProvider, o HTTPOptions) *statelessClient {
	t.Helper()
	server := NewServer(s, "test", "")
	o.Token = "the token"
	handler, err := server.NewHTTPHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(func() { server.EndAllSessions(context.Background()) })
	return &statelessClient{t, server, web.URL + Path}
}

// metaOf returns the _meta of a request of a version.
func metaOf(version string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}`
}

// request returns a request with the headers of the newest version; an empty header is left out.
func (c *statelessClient) request(ctx context.Context, message string, headers map[string]string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(message))
	if err != nil {
		c.t.Fatal(err)
	}
	var parsed struct {
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal([]byte(message), &parsed)
	for name, value := range map[string]string{
		"Authorization": "Bearer the token", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		versionHeader: statelessSince, "Mcp-Method": parsed.Method, "Mcp-Name": parsed.Params.Name,
	} {
		if changed, ok := headers[name]; ok {
			value = changed
		}
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if session, ok := headers[sessionHeader]; ok {
		r.Header.Set(sessionHeader, session)
	}
	return r
}

// post sends a message and returns the response's status, its header and its last JSON-RPC message.
func (c *statelessClient) post(message string, headers map[string]string) (status int, header http.Header, last string) {
	c.t.Helper()
	response, err := http.DefaultClient.Do(c.request(c.t.Context(), message, headers))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if data := strings.TrimPrefix(strings.TrimSpace(line), "data: "); strings.HasPrefix(data, "{") {
			last = data
		}
	}
	return response.StatusCode, response.Header, last
}

// statelessCall is a call of the one tool of telling.
func statelessCall(kind string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"` + kind + `"},` +
		metaOf(statelessSince) + `}}`
}

func TestStatelessRequestsNeedNoSession(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, telling{}, HTTPOptions{MaxSessions: 1})
	status, header, _ := c.post(hello, map[string]string{versionHeader: ""})
	session := header.Get(sessionHeader)
	if status != http.StatusOK || session == "" {
		t.Fatalf("the session of an older client: %d %v", status, header)
	}
	for range 3 { // more than there are sessions
		status, header, answer := c.post(statelessCall("both"), nil)
		if status != http.StatusOK || header.Get(sessionHeader) != "" || !strings.Contains(answer, `"resultType":"complete"`) ||
			!strings.Contains(answer, `"structuredContent":{"n":1}`) {
			t.Errorf("%d %v %s", status, header, answer)
		}
	}
	if got := c.server.CountHTTPSessions(); got != 1 {
		t.Errorf("%d sessions are open; want that of the older client", got)
	}
	status, _, answer := c.post(toolCall("8", "both"), map[string]string{versionHeader: "2025-06-18", sessionHeader: session})
	if status != http.StatusOK || strings.Contains(answer, "resultType") {
		t.Errorf("the older client's call: %d %s", status, answer)
	}
}

func TestStatelessRequestRouting(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, telling{}, HTTPOptions{})
	discover := func(version string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + metaOf(version) + `}}`
	}
	for name, test := range map[string]struct {
		message string
		headers map[string]string
		status  int
		want    string
	}{
		"both":               {discover(statelessSince), nil, 200, `"supportedVersions":["2026-07-28","2025-11-25"`},
		"no header":          {discover(statelessSince), map[string]string{versionHeader: ""}, 400, `"code":-32020`},
		"older header":       {discover(statelessSince), map[string]string{versionHeader: "2025-11-25"}, 400, `"code":-32020`},
		"older message":      {discover("2025-11-25"), nil, 400, `"code":-32020`},
		"no meta":            {`{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`, nil, 400, `"code":-32602`},
		"unknown version":    {discover("2999-01-01"), map[string]string{versionHeader: "2999-01-01"}, 400, `"code":-32022`},
		"unknown method":     {strings.Replace(discover(statelessSince), "server/discover", "no/such", 1), nil, 404, `"code":-32601`},
		"initialize":         {strings.Replace(discover(statelessSince), "server/discover", "initialize", 1), nil, 404, `"code":-32601`},
		"other method":       {statelessCall("x"), map[string]string{"Mcp-Method": "tools/list"}, 400, `"code":-32020`},
		"no method":          {statelessCall("x"), map[string]string{"Mcp-Method": ""}, 400, `"code":-32020`},
		"other tool":         {statelessCall("x"), map[string]string{"Mcp-Name": "another"}, 400, `"code":-32020`},
		"session is ignored": {statelessCall("x"), map[string]string{sessionHeader: "another"}, 200, `"resultType":"complete"`},
		"version in a text":  {toolCall("7", "io.modelcontextprotocol/protocolVersion 2026-07-28"), map[string]string{versionHeader: ""}, 200, `invalid during session`},
	} {
		if status, _, answer := c.post(test.message, test.headers); status != test.status || !strings.Contains(answer, test.want) ||
			!strings.Contains(answer, `"id":7`) {
			t.Errorf("%s: %d %s; want %d and %s", name, status, answer, test.status, test.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		r := c.request(t.Context(), "", nil)
		r.Method = method
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, response.Status)
		}
	}
}

// Large arguments travel beside their message. A client can't tell.
func TestStatelessLargeArguments(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, telling{}, HTTPOptions{})
	kind := strings.Repeat("x", 2*smallMessage)
	if status, _, answer := c.post(statelessCall(kind), nil); status != http.StatusOK || !strings.Contains(answer, kind) {
		t.Errorf("%d %.300s", status, answer)
	}
}

func TestSubscriptionReceivesListChanges(t *testing.T) {
	t.Parallel()
	s := &switching{}
	c := newStatelessClient(t, s, HTTPOptions{MaxSessions: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen := func() *bufio.Scanner {
		message := `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
			metaOf(statelessSince) + `}}`
		response, err := http.DefaultClient.Do(c.request(ctx, message, nil))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return bufio.NewScanner(response.Body)
	}
	next := func(lines *bufio.Scanner) string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return fmt.Sprint("the stream has ended: ", lines.Err())
	}
	lines := listen()
	if got := next(lines); !strings.Contains(got, `"notifications/subscriptions/acknowledged"`) {
		t.Fatal(got)
	}
	if status, _, answer := c.post(hello, map[string]string{versionHeader: ""}); status != http.StatusServiceUnavailable {
		t.Errorf("a session beside as many subscriptions as there may be sessions: %d %s", status, answer)
	}
	s.more.Store(true)
	c.server.tools.refreshTools()
	if got := next(lines); !strings.Contains(got, `"notifications/tools/list_changed"`) ||
		!strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":9`) {
		t.Error(got)
	}
	c.server.EndAllSessions(t.Context())
	if got := next(lines); !strings.Contains(got, "the stream has ended") {
		t.Errorf("a subscription is open after the server's end: %s", got)
	}
}

func TestDisconnectCancelsStatelessCall(t *testing.T) {
	t.Parallel()
	s := &switching{began: make(chan struct{}), ended: make(chan struct{})}
	c := newStatelessClient(t, s, HTTPOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.began; cancel() }()
	response, err := http.DefaultClient.Do(c.request(ctx, strings.Replace(statelessCall("x"), "test_tell", "test_switch", 1), nil))
	if err == nil {
		_, err = bufio.NewReader(response.Body).ReadString(0)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the call has a response")
	}
	<-s.ended
}

// switching is a session that gets another tool later, and whose calls last until they are cancelled.
type switching struct {
	nothing
	more         atomic.Bool
	began, ended chan struct{}
}

func (s *switching) Tools() []session.Tool {
	tools := []session.Tool{{Name: "test.switch", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "switch"}}}
	if s.more.Load() {
		tools = append(tools, session.Tool{Name: "test.more", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "more"}})
	}
	return tools
}

func (s *switching) Call(ctx context.Context, _ string, _ json.RawMessage, _ func(session.CallEvent)) *session.Result {
	close(s.began)
	<-ctx.Done()
	close(s.ended)
	return &session.Result{Err: &session.Error{Code: "cancelled", Message: "it was cancelled"}}
}
