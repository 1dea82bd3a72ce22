package mcp_test

import (
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/telemetry/collectortest"
)

// What a client traces goes on through the host and the plugin to the MCP server behind it, and is told to a collector.
func TestTraceContextReachesMCPServer(t *testing.T) {
	t.Parallel()
	collector := collectortest.StartCollector()
	defer collector.Close()
	h := mcptest.NewHome(t, "PICOCLAW_TELEMETRY_ENDPOINT="+collector.URL)
	h.AddMaliciousServer("")
	c, _, end := h.ConnectClient(nil)
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	params := &sdkmcp.CallToolParams{Name: "evil_try", Arguments: map[string]any{"what": "meta"},
		Meta: sdkmcp.Meta{"traceparent": "00-" + trace + "-" + span + "-01", "tracestate": "rojo=1"}}
	r, err := c.CallTool(t.Context(), params)
	if err != nil || r.IsError {
		t.Fatalf("%v %v", err, r)
	}
	end()

	calls := collector.SpansNamed("tools/call evil_try")
	if len(calls) != 1 || calls[0].Trace != trace || calls[0].Parent != span {
		t.Fatalf("%+v", collector.Spans())
	}
	call := calls[0]
	if a := call.Attributes; a["picoclaw.tool"] != "evil.try" || a["picoclaw.decision"] != "allow" ||
		a["network.transport"] != "pipe" || a["mcp.protocol.version"] != "2025-11-25" {
		t.Errorf("%v", a)
	}
	for _, name := range []string{"decide", "start plugin", "call plugin"} {
		if part := collector.SpansNamed(name); len(part) != 1 || part[0].Parent != call.ID || part[0].Trace != trace {
			t.Errorf("%s: %+v", name, part)
		}
	}
	if want := "00-" + trace + "-" + collector.SpansNamed("call plugin")[0].ID + "-01"; !strings.Contains(mcptest.ResultText(r), want) ||
		!strings.Contains(mcptest.ResultText(r), "rojo=1") {
		t.Errorf("the server was told %s; want %s", mcptest.ResultText(r), want)
	}
	metrics := collector.Metrics()
	if metrics["picoclaw.call.durationmap[agent:main decision:allow outcome:ok tool:evil.try]"] != 1 ||
		metrics["picoclaw.plugin.start.durationmap[outcome:ok plugin:evil]"] != 1 ||
		metrics["picoclaw.plugin.processesmap[plugin:evil]"] != 0 {
		t.Errorf("%v", metrics)
	}
	if collector.HasReceivedText("meta") {
		t.Error("arguments were sent although nobody has asked for them")
	}

	// A trace goes through where nobody is told of it, too; what is none does not.
	c, _, _ = mcptest.Home{Agent: &clitest.Agent{T: h.T, Home: h.Home, Workspace: h.Workspace, Env: without(h.Env, "PICOCLAW_TELEMETRY_ENDPOINT")}}.ConnectClient(nil)
	for parent, want := range map[string]bool{"00-" + trace + "-" + span + "-01": true, "00-nonsense": false} {
		params.Meta = sdkmcp.Meta{"traceparent": parent}
		if r, err := c.CallTool(t.Context(), params); err != nil || strings.Contains(mcptest.ResultText(r), parent) != want {
			t.Errorf("%s: %v %s", parent, err, mcptest.ResultText(r))
		}
	}
	if n := len(collector.SpansNamed("tools/call evil_try")); n != 1 {
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
