package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
)

// Metrics are where the gateway's figures go, beside those of calls, and where all of them are read.
type Metrics interface {
	// ServeHTTP serves them as Prometheus reads them.
	http.Handler
	// Gauge adds a figure that is asked for whenever they are read; it may be unknown then. labels are names and values.
	Gauge(name, unit, help string, value func() (float64, bool), labels ...string) error
}

// measure adds the gateway's figures.
func (g *Gateway) measure() error {
	m := g.options.Metrics
	if m == nil {
		return nil
	}
	busy := func() (running, sessions int) {
		all, _, _ := g.state()
		for _, one := range all {
			r, s := one.Busy()
			running, sessions = running+r, sessions+s
		}
		return running, sessions
	}
	return errors.Join(
		m.Gauge("picoclaw.info", "", "The gateway's version.", func() (float64, bool) { return 1, true },
			"version", g.options.Version),
		m.Gauge("picoclaw.ready", "", "Whether calls can be made.", func() (float64, bool) {
			if _, ready := g.readiness(); ready {
				return 1, true
			}
			return 0, true
		}),
		m.Gauge("picoclaw.uptime", "s", "How long the gateway has been running.",
			func() (float64, bool) { return time.Since(g.started).Seconds(), true }),
		m.Gauge("picoclaw.running", "", "Calls and turns that have begun and not ended.", func() (float64, bool) {
			running, _ := busy()
			return float64(running), true
		}),
		m.Gauge("picoclaw.mcp.sessions", "", "Sessions of MCP clients.", func() (float64, bool) {
			_, sessions := busy()
			return float64(sessions), true
		}),
		m.Gauge("picoclaw.approvals.waiting", "", "Calls on this instance root that wait for a person's yes.",
			func() (float64, bool) {
				waiting, err := approvals.List(g.options.Home)
				return float64(len(waiting)), err == nil
			}),
	)
}
