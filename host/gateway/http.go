package gateway

import (
	"encoding/json"
	"net/http"
	"os"
	"time"
)

// routes is what is served over HTTP.
func (g *Gateway) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, health{Status: "ok", Uptime: g.uptime(), PID: os.Getpid()})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		r, ok := g.readiness()
		status := http.StatusOK
		if !ok {
			status = http.StatusServiceUnavailable
		}
		answer(w, status, r)
	})
	if g.options.Metrics != nil {
		mux.Handle("GET /metrics", g.options.Metrics)
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		_, _, draining := g.state()
		at := g.of(r)
		if draining || at == nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "the gateway is ending", http.StatusServiceUnavailable)
			return
		}
		at.ServeHTTP(w, r)
	}
	mux.HandleFunc("/mcp", serve)
	mux.HandleFunc("/mcp/", serve)
	if g.options.Console != nil {
		mux.Handle(ConsolePath, g.options.Console)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.options.Addressed(r.Host) {
			http.Error(w, "the Host header names another server; use localhost, an IP address, or a name in gateway.allow_hosts",
				http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type health struct {
	Status string    `json:"status"`
	Uptime string    `json:"uptime"`
	PID    int       `json:"pid,omitempty"`
	Checks []Checked `json:"checks,omitempty"`
}

// Checked is a check as it is shown.
type Checked struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok or failed
	Error  string `json:"error,omitempty"`
}

// readiness says whether calls can be made now, and if not, why.
func (g *Gateway) readiness() (health, bool) {
	_, at, draining := g.state()
	if draining || at == nil {
		return health{Status: "ending", Uptime: g.uptime()}, false
	}
	r, ok := health{Status: "ready", Uptime: g.uptime()}, true
	for _, c := range at.Checks() {
		one := Checked{Name: c.Name, Status: "ok"}
		if c.Err != nil {
			one.Status, one.Error, ok = "failed", c.Err.Error(), false
		}
		r.Checks = append(r.Checks, one)
	}
	if !ok {
		r.Status = "not ready"
	}
	return r, ok
}

func (g *Gateway) uptime() string { return time.Since(g.started).Truncate(time.Millisecond).String() }

// answer answers with JSON.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever has gone does not read it
}
