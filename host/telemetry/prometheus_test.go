package telemetry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// testdata/metrics.txt was written by go.opentelemetry.io/otel/exporters/prometheus and client_golang from the same
// calls, with N for values that depend on the process.
func TestMetricsEqualOutputOfClientGolang(t *testing.T) {
	told := open(t, telemetry.Options{Scraped: true, Endpoint: collector(t).URL})
	call(fromMCP(t), told, "ls", nil, &session.Result{})
	call(t.Context(), told, "x\xff", nil, &session.Result{Err: &session.Error{Code: pluginpb.CodeUnknownTool}})
	told.PluginStarted("sh\"e\\l\nl", time.Second, nil)
	told.PluginStarted("shell", 1500*time.Second, errors.New("no"))
	told.PluginEnded("shell", true)
	for _, gauge := range []struct {
		name, unit, help, label string
		value                   float64
		known                   bool
	}{
		{"picoclaw.info", "", "The \\ \"version\".\nx", "version", 1e21, true},
		{"picoclaw.uptime", "s", "U", "a.b-c", 1.5, true},
		{"picoclaw.none", "s", "U", "a.b-c", 1.5, false},
	} {
		if err := told.AddGauge(gauge.name, gauge.unit, gauge.help, func() (float64, bool) { return gauge.value, gauge.known },
			gauge.label, "2"); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	told.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(got, "text/plain; version=0.0.4;") {
		t.Errorf("%d %s", w.Code, got)
	}
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^(go_\w+) .*`).ReplaceAllString(w.Body.String(), "$1 N")
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
