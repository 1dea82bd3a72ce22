package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
)

// httpRoutes returns the handler of the HTTP server.
func (g *Gateway) httpRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, healthReport{Status: "ok", Uptime: g.formatUptime(), PID: os.Getpid()})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		r, ok := g.checkReadiness()
		status := http.StatusOK
		if !ok {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, r)
	})
	if g.options.Metrics != nil {
		mux.Handle("GET /metrics", g.options.Metrics)
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		gen, done := g.admitRequest(r)
		if gen == nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "the gateway is ending", http.StatusServiceUnavailable)
			return
		}
		defer done()
		gen.ServeHTTP(w, r)
	}
	mux.HandleFunc("/mcp", serve)
	mux.HandleFunc("/mcp/", serve)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp/", serve)
	if g.options.Console != nil {
		mux.Handle(ConsolePath, g.options.Console)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.options.IsOwnHost(r.Host) {
			http.Error(w, "the Host header names another server; use localhost, an IP address, or a name in gateway.allow_hosts",
				http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// healthReport is the response of /health and /ready.
type healthReport struct {
	Status string        `json:"status"`
	Uptime string        `json:"uptime"`
	PID    int           `json:"pid,omitempty"`
	Checks []CheckResult `json:"checks,omitempty"`
}

// CheckResult is the result of a readiness check in an HTTP response.
type CheckResult struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok or failed
	Error  string `json:"error,omitempty"`
}

// checkReadiness runs the checks, and reports whether all passed.
func (g *Gateway) checkReadiness() (healthReport, bool) {
	_, gen, draining := g.snapshotGenerations()
	if draining || gen == nil {
		return healthReport{Status: "ending", Uptime: g.formatUptime()}, false
	}
	report, ok := healthReport{Status: "ready", Uptime: g.formatUptime()}, true
	for _, c := range gen.HealthChecks() {
		result := CheckResult{Name: c.Name, Status: "ok"}
		if c.Err != nil {
			result.Status, result.Error, ok = "failed", c.Err.Error(), false
		}
		report.Checks = append(report.Checks, result)
	}
	if !ok {
		report.Status = "not ready"
	}
	return report, ok
}

// formatUptime formats the time since the gateway's start.
func (g *Gateway) formatUptime() string {
	return time.Since(g.started).Truncate(time.Millisecond).String()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// MetricsRegistry collects the gateway's metrics and serves them with those of calls.
type MetricsRegistry interface {
	// ServeHTTP serves the metrics in Prometheus format.
	http.Handler
	// AddGauge registers a metric, whose value is read at each scrape and may be unknown. labels are names and values
	// in pairs.
	AddGauge(name, unit, help string, value func() (float64, bool), labels ...string) error
}

// registerMetrics registers the gateway's metrics.
func (g *Gateway) registerMetrics() error {
	m := g.options.Metrics
	if m == nil {
		return nil
	}
	countActive := func() (running, sessions int) {
		all, _, _ := g.snapshotGenerations()
		for _, gen := range all {
			r, s := gen.ActivityCounts()
			running, sessions = running+r, sessions+s
		}
		return running, sessions
	}
	return errors.Join(
		m.AddGauge("picoclaw.info", "", "The gateway's version.", func() (float64, bool) { return 1, true },
			"version", g.options.Version),
		m.AddGauge("picoclaw.ready", "", "Whether calls can be made.", func() (float64, bool) {
			if _, ready := g.checkReadiness(); ready {
				return 1, true
			}
			return 0, true
		}),
		m.AddGauge("picoclaw.uptime", "s", "How long the gateway has been running.",
			func() (float64, bool) { return time.Since(g.started).Seconds(), true }),
		m.AddGauge("picoclaw.running", "", "Calls and turns that have begun and not ended.", func() (float64, bool) {
			running, _ := countActive()
			return float64(running), true
		}),
		m.AddGauge("picoclaw.mcp.sessions", "", "Sessions of MCP clients.", func() (float64, bool) {
			_, sessions := countActive()
			return float64(sessions), true
		}),
		m.AddGauge("picoclaw.approvals.waiting", "", "Approval requests waiting in this home.",
			func() (float64, bool) {
				waiting, err := approvals.ListWaitingCalls(g.options.Home)
				return float64(len(waiting)), err == nil
			}),
	)
}
