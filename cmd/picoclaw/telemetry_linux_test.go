package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/telemetry/collectortest"
)

// What a client traces goes on through the host and the plugin to the MCP server behind it, and is told to a collector.
func TestATraceGoesThroughToAnMCPServer(t *testing.T) {
	collector := collectortest.New()
	defer collector.Close()
	h := newServerHome(t, "PICOCLAW_TELEMETRY_ENDPOINT="+collector.URL)
	h.addEvil("")
	c, _, end := h.client(nil)
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	params := &sdkmcp.CallToolParams{Name: "evil_try", Arguments: map[string]any{"what": "meta"},
		Meta: sdkmcp.Meta{"traceparent": "00-" + trace + "-" + span + "-01", "tracestate": "rojo=1"}}
	r, err := c.CallTool(t.Context(), params)
	if err != nil || r.IsError {
		t.Fatalf("%v %v", err, r)
	}
	end()

	calls := collector.Named("tools/call evil_try")
	if len(calls) != 1 || calls[0].Trace != trace || calls[0].Parent != span {
		t.Fatalf("%+v", collector.Spans())
	}
	call := calls[0]
	if a := call.Attributes; a["picoclaw.tool"] != "evil.try" || a["picoclaw.decision"] != "allow" ||
		a["network.transport"] != "pipe" || a["mcp.protocol.version"] != "2025-11-25" {
		t.Errorf("%v", a)
	}
	for _, name := range []string{"decide", "start plugin", "call plugin"} {
		if part := collector.Named(name); len(part) != 1 || part[0].Parent != call.ID || part[0].Trace != trace {
			t.Errorf("%s: %+v", name, part)
		}
	}
	if want := "00-" + trace + "-" + collector.Named("call plugin")[0].ID + "-01"; !strings.Contains(text(r), want) ||
		!strings.Contains(text(r), "rojo=1") {
		t.Errorf("the server was told %s; want %s", text(r), want)
	}
	metrics := collector.Metrics()
	if metrics["picoclaw.call.durationmap[agent:main decision:allow outcome:ok tool:evil.try]"] != 1 ||
		metrics["picoclaw.plugin.start.durationmap[outcome:ok plugin:evil]"] != 1 ||
		metrics["picoclaw.plugin.processesmap[plugin:evil]"] != 0 {
		t.Errorf("%v", metrics)
	}
	if collector.Contains("meta") {
		t.Error("arguments were sent although nobody has asked for them")
	}

	// A trace goes through where nobody is told of it, too; what is none does not.
	c, _, _ = serverHome{&undoAgent{t: h.t, home: h.home, dir: h.dir, env: without(h.env, "PICOCLAW_TELEMETRY_ENDPOINT")}}.client(nil)
	for parent, want := range map[string]bool{"00-" + trace + "-" + span + "-01": true, "00-nonsense": false} {
		params.Meta = sdkmcp.Meta{"traceparent": parent}
		if r, err := c.CallTool(t.Context(), params); err != nil || strings.Contains(text(r), parent) != want {
			t.Errorf("%s: %v %s", parent, err, text(r))
		}
	}
	if n := len(collector.Named("tools/call evil_try")); n != 1 {
		t.Errorf("%d calls were told of, though there is no endpoint any more", n)
	}
}

// without is an environment without a variable.
func without(env []string, name string) (out []string) {
	for _, one := range env {
		if !strings.HasPrefix(one, name+"=") {
			out = append(out, one)
		}
	}
	return out
}

// Calls on the command line are told of, with secrets for headers; a collector that refuses changes nothing but the
// log.
func TestCallsAreToldToACollector(t *testing.T) {
	collector := collectortest.New()
	defer collector.Close()
	in := newInstance(t)
	in.configure(t, `{"telemetry": {"endpoint": "`+collector.URL+`", "content": true, "headers": {"Authorization": "Bearer ${COLLECTOR}"}},
		"secrets": {"COLLECTOR": {"from": {"command": ["echo", "collectors-key"]}, "hosts": ["127.0.0.1/32"]}}}`)
	if out, code := in.picoclaw(t, "call", "exec", "command=echo $((40 + 2))"); code != 0 || !strings.Contains(out, "42") {
		t.Fatalf("%d %s", code, out)
	}
	if out, code := in.picoclaw(t, "call", "read_file", "path=/etc/shadow"); code != exitFailed {
		t.Fatalf("%d %s", code, out)
	}
	ran, refused := collector.Named("execute_tool exec"), collector.Named("execute_tool read_file")
	if len(ran) != 1 || ran[0].Attributes["gen_ai.tool.call.result"] != "42\n" ||
		!strings.Contains(ran[0].Attributes["gen_ai.tool.call.arguments"], "40 + 2") {
		t.Errorf("%+v", ran)
	}
	if len(refused) != 1 || refused[0].Attributes["picoclaw.decision"] != "deny" || refused[0].Attributes["picoclaw.rule"] == "" ||
		refused[0].Attributes["error.type"] != "access_denied" {
		t.Errorf("%+v", refused)
	}
	for _, header := range collector.Requests() {
		if header.Get("Authorization") != "Bearer collectors-key" {
			t.Errorf("%v", header)
		}
	}
	sent := len(collector.Requests())
	if out, code := in.picoclaw(t, "tools"); code != 0 || len(collector.Requests()) != sent {
		t.Errorf("a list of tools was told of: %d %s", code, out)
	}

	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	in.configure(t, `{"telemetry": {"endpoint": "`+refusing.URL+`"}}`)
	if out, code := in.picoclaw(t, "call", "exec", "command=echo $((40 + 2))"); code != 0 || !strings.Contains(out, "42") ||
		!strings.Contains(out, "telemetry.endpoint") {
		t.Errorf("%d %s", code, out)
	}
	in.configure(t, `{"telemetry": {"endpoint": "http://collector.example.com"}}`)
	if out, code := in.picoclaw(t, "call", "exec", "command=true"); code != exitStart || !strings.Contains(out, "telemetry.insecure") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := in.picoclaw(t, "config", "check"); code == 0 || !strings.Contains(out, "telemetry.insecure") {
		t.Errorf("%d %s", code, out)
	}
}
