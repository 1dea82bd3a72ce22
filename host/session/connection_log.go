package session

import (
	"cmp"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
)

// connectionLog logs allowed and refused connections. It limits entries, since a command can open any number of
// connections: in each minute the first connection of a kind gets an entry, the others share one, and so do all hosts
// after the first few.
type connectionLog struct {
	write func(audit.Record) error
	fail  func(error)

	mu      sync.Mutex
	tallies map[connectionGroup]*connectionTally
	timer   *time.Timer // nil without tallies
}

// connectionGroup groups similar connections.
type connectionGroup struct {
	host    string // empty for hosts after the first few
	port    uint16
	verdict egress.Verdict
	rule    string
}

// connectionTally counts connections without an entry so far.
type connectionTally struct {
	record         audit.Record
	times          int
	sent, received int64
}

const (
	tallyInterval   = time.Minute
	maxTalliedHosts = 32 // per interval
)

// logConnection logs a connection at once, or adds it to a tally.
func (l *connectionLog) logConnection(r audit.Record, e egress.Event) {
	key := connectionGroup{e.Host, e.Port, e.Decision.Verdict, e.Decision.Rule}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, known := l.tallies[key]
	if !known && len(l.tallies) >= maxTalliedHosts {
		key = connectionGroup{verdict: e.Decision.Verdict}
		t, known = l.tallies[key]
	}
	if !known {
		if l.tallies == nil {
			l.tallies = map[connectionGroup]*connectionTally{}
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

func (t *connectionTally) addConnection(e egress.Event) {
	t.times++
	t.sent += e.Sent
	t.received += e.Received
	t.record.Error = cmp.Or(t.record.Error, e.Err)
}

// flushTallies logs all tallies.
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
