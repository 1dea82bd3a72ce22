package call_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/telemetry/collectortest"
)

// Calls on the command line are told of, with secrets for headers; a collector that refuses changes nothing but the
// log.
func TestCallsAreExportedToCollector(t *testing.T) {
	t.Parallel()
	collector := collectortest.StartCollector()
	defer collector.Close()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"telemetry": {"endpoint": "`+collector.URL+`", "content": true, "headers": {"Authorization": "Bearer ${COLLECTOR}"}},
		"secrets": {"COLLECTOR": {"from": {"command": ["echo", "collectors-key"]}, "hosts": ["127.0.0.1/32"]}}}`)
	if out, code := in.Run(t, "call", "exec", "command=echo $((40 + 2))"); code != 0 || !strings.Contains(out, "42") {
		t.Fatalf("%d %s", code, out)
	}
	if out, code := in.Run(t, "call", "read_file", "path=/etc/shadow"); code != clitest.ExitFailed {
		t.Fatalf("%d %s", code, out)
	}
	ran, refused := collector.SpansNamed("execute_tool exec"), collector.SpansNamed("execute_tool read_file")
	if len(ran) != 1 || ran[0].Attributes["gen_ai.tool.call.result"] != "42\n" ||
		!strings.Contains(ran[0].Attributes["gen_ai.tool.call.arguments"], "40 + 2") {
		t.Errorf("%+v", ran)
	}
	if len(refused) != 1 || refused[0].Attributes["picoclaw.decision"] != "deny" || refused[0].Attributes["picoclaw.rule"] == "" ||
		refused[0].Attributes["error.type"] != "access_denied" {
		t.Errorf("%+v", refused)
	}
	for _, header := range collector.RequestHeaders() {
		if header.Get("Authorization") != "Bearer collectors-key" {
			t.Errorf("%v", header)
		}
	}
	sent := len(collector.RequestHeaders())
	if out, code := in.Run(t, "tools"); code != 0 || len(collector.RequestHeaders()) != sent {
		t.Errorf("a list of tools was told of: %d %s", code, out)
	}

	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	in.WriteConfig(t, `{"telemetry": {"endpoint": "`+refusing.URL+`"}}`)
	if out, code := in.Run(t, "call", "exec", "command=echo $((40 + 2))"); code != 0 || !strings.Contains(out, "42") ||
		!strings.Contains(out, "telemetry.endpoint") {
		t.Errorf("%d %s", code, out)
	}
	in.WriteConfig(t, `{"telemetry": {"endpoint": "http://collector.example.com"}}`)
	if out, code := in.Run(t, "call", "exec", "command=true"); code != clitest.ExitStart || !strings.Contains(out, "telemetry.insecure") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := in.Run(t, "config", "check"); code == 0 || !strings.Contains(out, "telemetry.insecure") {
		t.Errorf("%d %s", code, out)
	}
}
