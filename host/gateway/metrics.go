package gateway

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
)

// Metrics are what a gateway counts, over all configurations. It may be used concurrently.
type Metrics struct {
	mu    sync.Mutex
	calls map[called]*timing
}

// called is what calls are counted by.
type called struct{ agent, tool, decision, outcome string }

// maxCalled bounds how many of them there are: an agent may call tools that there are not.
const maxCalled = 5000

// buckets are the upper bounds of how long calls took, in seconds.
var buckets = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60}

type timing struct {
	count, seconds float64
	below          [8]uint64 // calls at most as long as the bucket's bound
}

// Observe counts a call by its record.
func (m *Metrics) Observe(r audit.Record) {
	key := called{r.Agent, r.Tool, r.Decision, "ok"}
	if r.Error != "" {
		key.outcome = "error"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[called]*timing{}
	}
	t := m.calls[key]
	if t == nil && len(m.calls) >= maxCalled {
		key.tool = "other"
		t = m.calls[key]
	}
	if t == nil {
		t = &timing{}
		m.calls[key] = t
	}
	seconds := r.Millis / 1000
	t.count++
	t.seconds += seconds
	for i, bound := range buckets {
		if seconds <= bound {
			t.below[i]++
		}
	}
}

// write writes the metrics as Prometheus reads them.
func (m *Metrics) write(to io.Writer, g *Gateway) error {
	w := bufio.NewWriter(to)
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	s := g.status()
	head("picoclaw_info", "gauge", "The gateway's version.")
	fmt.Fprintf(w, "picoclaw_info{version=%s} 1\n", label(s.Version))
	head("picoclaw_ready", "gauge", "Whether calls can be made.")
	fmt.Fprintf(w, "picoclaw_ready %d\n", map[bool]int{true: 1}[s.Ready])
	head("picoclaw_uptime_seconds", "gauge", "How long the gateway has been running.")
	fmt.Fprintf(w, "picoclaw_uptime_seconds %.3f\n", time.Since(s.Started).Seconds())
	running, sessions := 0, 0
	for _, c := range s.Configurations {
		running, sessions = running+c.Running, sessions+c.Sessions
	}
	head("picoclaw_running", "gauge", "Calls and turns that have begun and not ended.")
	fmt.Fprintf(w, "picoclaw_running %d\n", running)
	head("picoclaw_mcp_sessions", "gauge", "Sessions of MCP clients.")
	fmt.Fprintf(w, "picoclaw_mcp_sessions %d\n", sessions)

	if waiting, err := approvals.List(g.options.Home); err == nil {
		head("picoclaw_approvals_waiting", "gauge", "Calls on this instance root that wait for a person's yes.")
		fmt.Fprintf(w, "picoclaw_approvals_waiting %d\n", len(waiting))
	}

	head("picoclaw_call_duration_seconds", "histogram", "How long calls took, by agent, tool, decision and outcome.")
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(m.calls), func(a, b called) int {
		return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.tool, b.tool), cmp.Compare(a.decision, b.decision),
			cmp.Compare(a.outcome, b.outcome))
	})
	for _, k := range keys {
		t := m.calls[k]
		labels := fmt.Sprintf("agent=%s,tool=%s,decision=%s,outcome=%s", label(k.agent), label(k.tool), label(k.decision),
			label(k.outcome))
		for i, bound := range buckets {
			fmt.Fprintf(w, "picoclaw_call_duration_seconds_bucket{%s,le=\"%g\"} %d\n", labels, bound, t.below[i])
		}
		fmt.Fprintf(w, "picoclaw_call_duration_seconds_bucket{%s,le=\"+Inf\"} %.0f\n", labels, t.count)
		fmt.Fprintf(w, "picoclaw_call_duration_seconds_sum{%s} %g\n", labels, t.seconds)
		fmt.Fprintf(w, "picoclaw_call_duration_seconds_count{%s} %.0f\n", labels, t.count)
	}
	return w.Flush()
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label writes a value as a label's.
func label(value string) string {
	return `"` + labelEscaper.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}
