package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
)

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
		all, _, _ := g.currentState()
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
