package session

import (
	"cmp"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
)

// reachedLog records what is reached and what is refused. A command can connect and ask for names as often as it likes,
// and the record has room for so much: of the same within a minute the first has a line, and all others together one
// more, and so have all hosts behind the first few.
type reachedLog struct {
	write func(audit.Record) error
	fail  func(error)

	mu      sync.Mutex
	tallies map[reachedKey]*tally
	timer   *time.Timer // set while there are tallies
}

// reachedKey is what is the same of several connections.
type reachedKey struct {
	host    string // empty for those behind the first few
	port    uint16
	verdict egress.Verdict
	rule    string
}

// tally is what was not recorded yet.
type tally struct {
	record         audit.Record
	times          int
	sent, received int64
}

const (
	reachedWindow = time.Minute
	reachedHosts  = 32 // in one window
)

// note records an event, now or with others.
func (l *reachedLog) note(r audit.Record, e egress.Event) {
	key := reachedKey{e.Host, e.Port, e.Decision.Verdict, e.Decision.Rule}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, known := l.tallies[key]
	if !known && len(l.tallies) >= reachedHosts {
		key = reachedKey{verdict: e.Decision.Verdict}
		t, known = l.tallies[key]
	}
	if !known {
		if l.tallies == nil {
			l.tallies = map[reachedKey]*tally{}
			l.timer = time.AfterFunc(reachedWindow, l.flush)
		}
		l.tallies[key] = &tally{record: r}
		if key.host == "" {
			l.tallies[key].add(e)
			return
		}
		l.put(r)
		return
	}
	t.add(e)
}

func (t *tally) add(e egress.Event) {
	t.times++
	t.sent += e.Sent
	t.received += e.Received
	t.record.Error = cmp.Or(t.record.Error, e.Err)
}

// flush records what was not recorded yet.
func (l *reachedLog) flush() {
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
		l.put(t.record)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.tallies, l.timer = nil, nil
}

func (l *reachedLog) put(r audit.Record) {
	if err := l.write(r); err != nil {
		l.fail(err)
	}
}
