package session

import (
	"cmp"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
)

// connectionLog writes audit entries about connections. A command can open any number of connections. So in each minute
// only the first of similar connections has its own entry, and the others share one. Hosts after the first
// maxTalliedHosts share one entry too.
type connectionLog struct {
	write func(audit.Record) error
	fail  func(error)

	mu      sync.Mutex
	tallies map[connectionTallyKey]*connectionTally
	timer   *time.Timer // nil without tallies
}

// connectionTallyKey identifies similar connections, which share a tally.
type connectionTallyKey struct {
	host    string // empty for hosts after the first few
	port    uint16
	verdict egress.Verdict
	rule    string
}

// connectionTally counts the connections of a group that no audit entry contains yet.
type connectionTally struct {
	record         audit.Record
	times          int
	sent, received int64
}

const (
	tallyInterval   = time.Minute
	maxTalliedHosts = 32 // per interval
)

// logConnection writes the entry of a group's first connection, and adds later ones to the group's tally.
func (l *connectionLog) logConnection(r audit.Record, e egress.ConnectionEvent) {
	key := connectionTallyKey{e.Host, e.Port, e.Decision.Verdict, e.Decision.Rule}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, known := l.tallies[key]
	if !known && len(l.tallies) >= maxTalliedHosts {
		key = connectionTallyKey{verdict: e.Decision.Verdict}
		t, known = l.tallies[key]
	}
	if !known {
		if l.tallies == nil {
			l.tallies = map[connectionTallyKey]*connectionTally{}
			l.timer = time.AfterFunc(tallyInterval, l.flushTallies)
		}
		l.tallies[key] = &connectionTally{record: r}
		if key.host == "" {
			l.tallies[key].addConnection(e)
			return
		}
		l.writeEntry(r)
		return
	}
	t.addConnection(e)
}

func (t *connectionTally) addConnection(e egress.ConnectionEvent) {
	t.times++
	t.sent += e.Sent
	t.received += e.Received
	t.record.Error = cmp.Or(t.record.Error, e.Err)
}

// flushTallies writes an entry for each tally and resets the tallies.
func (l *connectionLog) flushTallies() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, t := range l.tallies {
		if t.times == 0 {
			continue
		}
		args := map[string]any{"times": t.times, "sent": t.sent, "received": t.received}
		if key.host != "" {
			args["host"], args["port"] = key.host, int(key.port)
		} else {
			args["host"] = "others"
		}
		t.record.Args, t.record.Time, t.record.Millis = args, time.Now().UTC(), 0
		l.writeEntry(t.record)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.tallies, l.timer = nil, nil
}

func (l *connectionLog) writeEntry(r audit.Record) {
	if err := l.write(r); err != nil {
		l.fail(err)
	}
}
