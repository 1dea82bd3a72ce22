package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
	"github.com/picoclaw/picoclaw/host/telemetry/collectortest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
	parent      = "00-" + parentTrace + "-" + parentSpan + "-01"
)

func collector(t *testing.T) *collectortest.Collector {
	c := collectortest.StartCollector()
	t.Cleanup(c.Close)
	return c
}

func open(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	if o.Sample == 0 {
		o.Sample = 1
	}
	o.Version = "1"
	told, err := telemetry.StartTelemetry(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { told.Close(context.Background()) })
	return told
}

// fromMCP is the context of an MCP client's call.
func fromMCP(t *testing.T) context.Context {
	ctx := session.WithRequest(t.Context(),
		session.RequestInfo{Method: "tools/call", Session: "s1", Version: "2025-11-25", Transport: "pipe"})
	return session.WithTraceParent(ctx, session.TraceParent{Parent: parent, State: "rojo=1"})
}

// call makes a call that does nothing.
func call(ctx context.Context, told *telemetry.Telemetry, tool string, args map[string]any, result *session.Result) session.TraceParent {
	r := audit.Record{Time: time.Now(), Agent: "main", Session: "abc", Origin: "mcp", Tool: tool, Args: args}
	ctx, ended := told.TraceCall(ctx, r)
	_, decided := told.TraceStep(ctx, session.Deciding, time.Now())
	decided(nil)
	in, called := told.TraceStep(ctx, session.Calling, time.Now())
	trace := told.TraceContext(in)
	called(nil)
	r.Tool, r.Decision, r.Rule, r.Millis = "filesystem."+tool, "allow", "workspace", 3
	if result.Err != nil {
		r.Error = result.Err.Message
	}
	ended(r, result)
	return trace
}

func TestACallIsPartOfWhatItsCallerTraces(t *testing.T) {
	c := collector(t)
	told := open(t, telemetry.Options{Endpoint: c.URL, Headers: map[string]string{"Authorization": "Bearer x"}})
	passed := call(fromMCP(t), told, "read_file", nil, &session.Result{Text: "words"})
	call(t.Context(), told, "cp", nil, &session.Result{Err: &session.Error{Code: "not_found", Message: "there is no secret-plan.txt"}})
	call(fromMCP(t), told, "rm", nil, &session.Result{Err: &session.Error{Code: "access_denied"}})
	call(t.Context(), told, "nonsense\xff", nil, &session.Result{Err: &session.Error{Code: pluginpb.CodeUnknownTool}})
	told.PluginStarted("shell", time.Second, nil)
	told.PluginStarted("shell", time.Second, errors.New("no"))
	told.PluginEnded("shell", true)
	told.Close(t.Context())

	spans := c.SpansNamed("tools/call read_file")
	if len(spans) != 1 {
		t.Fatalf("%+v", c.Spans())
	}
	s := spans[0]
	if s.Trace != parentTrace || s.Parent != parentSpan || s.Kind != "SPAN_KIND_SERVER" || s.Status != "STATUS_CODE_UNSET" {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]string{
		"mcp.method.name": "tools/call", "mcp.session.id": "s1", "mcp.protocol.version": "2025-11-25",
		"network.transport": "pipe", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file",
		"picoclaw.tool": "filesystem.read_file", "picoclaw.agent": "main", "picoclaw.origin": "mcp",
		"picoclaw.decision": "allow", "picoclaw.rule": "workspace", "error.type": "", "gen_ai.tool.call.arguments": "",
	} {
		if got := s.Attributes[name]; got != want {
			t.Errorf("%s is %q; want %q", name, got, want)
		}
	}
	var calling *collectortest.Span
	for _, child := range c.Spans() {
		if child.Parent == s.ID && child.Name == "call plugin" {
			calling = &child
		}
	}
	if calling == nil || passed.Parent != "00-"+parentTrace+"-"+calling.ID+"-01" || passed.State != "rojo=1" {
		t.Errorf("passed on: %+v, for %+v", passed, calling)
	}
	for name, kind := range map[string]string{"execute_tool cp": "not_found", "tools/call rm": "tool_error", "execute_tool": "unknown_tool"} {
		if got := c.SpansNamed(name); len(got) != 1 || got[0].Attributes["error.type"] != kind || got[0].Status != "STATUS_CODE_ERROR" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if c.HasReceivedText("secret-plan") || c.HasReceivedText("words") {
		t.Error("what a call said was sent although nobody has asked for it")
	}
	metrics := c.Metrics()
	for name, want := range map[string]float64{
		"picoclaw.call.duration[agent:main decision:allow outcome:ok tool:filesystem.read_file]": 1,
		"picoclaw.call.duration[agent:main decision:allow outcome:ok tool:other]":                1,
		"mcp.server.operation.duration[gen_ai.operation.name:execute_tool gen_ai.tool.name:read_file mcp.method.name:tools/call " +
			"mcp.protocol.version:2025-11-25 network.transport:pipe]": 1,
		"picoclaw.plugin.start.duration[outcome:ok plugin:shell]":    1,
		"picoclaw.plugin.start.duration[outcome:error plugin:shell]": 1,
		"picoclaw.plugin.crashes[plugin:shell]":                      1,
		"picoclaw.plugin.processes[plugin:shell]":                    0,
	} {
		if got, ok := metrics["map"+name]; !ok || got != want {
			if got, ok := metrics[strings.Replace(name, "[", "map[", 1)]; !ok || got != want {
				t.Errorf("%s is %v; want %v\n%v", name, got, want, metrics)
			}
		}
	}
	for _, header := range c.RequestHeaders() {
		if header.Get("Authorization") != "Bearer x" {
			t.Errorf("%v", header)
		}
	}
}

func TestContentIsSentOnRequestWithoutSecrets(t *testing.T) {
	c := collector(t)
	told := open(t, telemetry.Options{Endpoint: c.URL, Content: true})
	args := map[string]any{"path": "plan.txt", "password": "hunter22", "text": strings.Repeat("x", 1<<20) + "\xff"}
	call(t.Context(), told, "write_file", args, &session.Result{Text: "token=sk-abcdefghijklmnopqrstuvwx and more"})
	call(t.Context(), told, "rm", nil, &session.Result{Err: &session.Error{Code: "failed", Message: "no rm: plan"}})
	told.Close(t.Context())
	spans := c.SpansNamed("execute_tool write_file")
	if len(spans) != 1 {
		t.Fatalf("%+v", c.Spans())
	}
	got := spans[0].Attributes
	if args := got["gen_ai.tool.call.arguments"]; !strings.Contains(args, "plan.txt") || len(args) > 5000 {
		t.Errorf("the arguments are %d bytes: %.100s", len(args), args)
	}
	if result := got["gen_ai.tool.call.result"]; !strings.Contains(result, "and more") {
		t.Errorf("the result is %q", result)
	}
	if c.HasReceivedText("hunter22") || c.HasReceivedText("sk-abcdef") {
		t.Error("a secret was sent")
	}
}

func TestASampleIsTaken(t *testing.T) {
	c := collector(t)
	told := open(t, telemetry.Options{Endpoint: c.URL, Sample: 1e-9})
	for range 50 {
		call(t.Context(), told, "ls", nil, &session.Result{})
	}
	call(fromMCP(t), told, "ls", nil, &session.Result{}) // its client traces it
	told.Close(t.Context())
	if n := len(c.Spans()); n != 3 || len(c.SpansNamed("tools/call ls")) != 1 {
		t.Errorf("%d spans: %+v", n, c.Spans())
	}
	if n := c.Metrics()["picoclaw.call.durationmap[agent:main decision:allow outcome:ok tool:filesystem.ls]"]; n != 51 {
		t.Errorf("%v calls are counted", n)
	}
}

func TestAgentsAreFollowed(t *testing.T) {
	c := collector(t)
	told := open(t, telemetry.Options{Endpoint: c.URL})
	ctx, ended := told.TraceTurn(t.Context(), "main")
	_, answered := told.TraceModel(ctx, "anthropic", "claude")
	answered(10, 5, nil)
	call(ctx, told, "ls", nil, &session.Result{})
	ended(nil)
	told.Close(t.Context())
	turn := c.SpansNamed("invoke_agent main")
	if len(turn) != 1 {
		t.Fatalf("%+v", c.Spans())
	}
	for _, name := range []string{"chat claude", "execute_tool ls"} {
		if got := c.SpansNamed(name); len(got) != 1 || got[0].Parent != turn[0].ID {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := c.SpansNamed("chat claude")[0].Attributes; got["gen_ai.usage.input_tokens"] != "10" || got["gen_ai.usage.output_tokens"] != "5" {
		t.Errorf("%v", got)
	}
}

// With no collector nothing is sent; where metrics are served, what a caller traces is passed on as it came.
func TestNobodyIsTold(t *testing.T) {
	if told, err := telemetry.StartTelemetry(telemetry.Options{}); told != nil || err != nil {
		t.Fatalf("%v %v", told, err)
	}
	told := open(t, telemetry.Options{Scraped: true})
	if got := call(fromMCP(t), told, "ls", nil, &session.Result{}); got.Parent != parent || got.State != "rojo=1" {
		t.Errorf("%+v", got)
	}
	call(t.Context(), told, "x\xff", nil, &session.Result{Err: &session.Error{Code: pluginpb.CodeUnknownTool}})
	if err := told.AddGauge("picoclaw.info", "", "The version.", func() (float64, bool) { return 1, true }, "version", "2"); err != nil {
		t.Fatal(err)
	}
	_, answered := told.TraceStep(t.Context(), session.Asking, time.Now())
	_, begun := told.TraceStep(t.Context(), session.Queueing, time.Now())
	w := httptest.NewRecorder()
	told.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	answered(nil)
	begun(nil)
	for _, want := range []string{
		"# TYPE picoclaw_call_duration_seconds histogram",
		`picoclaw_call_duration_seconds_bucket{agent="main",decision="allow",outcome="ok",tool="filesystem.ls",le="0.005"} 1`,
		`picoclaw_call_duration_seconds_count{agent="main",decision="allow",outcome="ok",tool="other"} 1`,
		`picoclaw_calls_waiting{for="approval"} 1`, `picoclaw_calls_waiting{for="turn"} 1`, `picoclaw_info{version="2"} 1`, "go_memory_used_bytes ",
	} {
		if !strings.Contains(w.Body.String(), want+"\n") && !strings.HasSuffix(want, " ") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is missing in\n%s", want, w.Body.String())
		}
	}
}

func TestWhereItMaySend(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://collector.example.com:4318": "telemetry.insecure", "ftp://localhost": "http or https", "localhost:4318": "http or https",
	} {
		_, err := telemetry.StartTelemetry(telemetry.Options{Endpoint: endpoint, Sample: 1})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "telemetry.endpoint") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	for _, endpoint := range []string{"http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://collector.example.com"} {
		open(t, telemetry.Options{Endpoint: endpoint}).Close(t.Context())
	}
	open(t, telemetry.Options{Endpoint: "http://collector.example.com", Insecure: true}).Close(t.Context())
	if _, err := telemetry.StartTelemetry(telemetry.Options{Endpoint: "http://localhost:1", Sample: 7}); err == nil ||
		!strings.Contains(err.Error(), "telemetry.sample") {
		t.Errorf("%v", err)
	}
}

// A collector that does not do its part costs a call nothing: what it does not take is dropped and counted, and the end
// does not wait for it.
func TestABrokenCollectorCostsNothing(t *testing.T) {
	elsewhere := collector(t)
	hanging := make(chan struct{}, 1)
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or a server does not see that the host goes
			select {
			case hanging <- struct{}{}:
			default:
			}
			<-r.Context().Done() // it ends because the host goes, not because the collector answers
		},
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[31mno", http.StatusForbidden) },
		"is busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"talks nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte(strings.Repeat("\xff", 1<<20)))
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close() // waits for the requests: they have ended
			var log strings.Builder
			told := open(t, telemetry.Options{Endpoint: server.URL, Scraped: true,
				Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
			for i := range 5000 {
				call(t.Context(), told, fmt.Sprint("t", i%10), nil, &session.Result{})
			}
			if name == "hangs" {
				<-hanging
			}
			w := httptest.NewRecorder()
			told.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if name == "hangs" && !strings.Contains(w.Body.String(), `picoclaw_telemetry_spans_total{outcome="dropped"} 1`) {
				t.Errorf("nothing was dropped:\n%s", w.Body.String())
			}
			told.Close(t.Context())
			if !strings.Contains(log.String(), "telemetry.endpoint") || strings.Contains(log.String(), "\x1b") {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
	if len(elsewhere.RequestHeaders()) > 0 {
		t.Error("a redirection was followed")
	}
}
