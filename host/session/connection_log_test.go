package session

import (
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
)

func TestFrequentConnectionsShareEntries(t *testing.T) {
	var records []audit.Record
	l := connectionLog{write: func(r audit.Record) error { records = append(records, r); return nil }}
	note := func(host string, sent int64) {
		l.logConnection(audit.Record{Tool: "network", Args: map[string]any{"host": host}},
			egress.ConnectionEvent{Host: host, Port: 443, Sent: sent, Decision: egress.Decision{Verdict: egress.Deny}})
	}
	for range 1000 {
		note("one.test", 2)
	}
	for i := range 10_000 {
		note(fmt.Sprintf("n%d.test", i), 1)
	}
	l.flushTallies()
	if len(records) > 2*maxTalliedHosts+2 {
		t.Errorf("%d records", len(records))
	}
	times, sent := 0, int64(0)
	for _, r := range records {
		if n, ok := r.Args["times"].(int); ok {
			times += n
			sent += r.Args["sent"].(int64)
		} else {
			times++
		}
	}
	if times != 11_000 || sent != 999*2+10_000-(maxTalliedHosts-1) {
		t.Errorf("%d times, %d bytes", times, sent)
	}
	records = nil
	note("one.test", 2)
	if l.flushTallies(); len(records) != 1 {
		t.Errorf("%d records behind the window", len(records))
	}
}
