package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
)

// Bounds of what is known of calls, and of who is told.
const (
	mostRecent    = 2000    // calls that are in memory
	readAtStart   = 1 << 20 // how much of the record is read for that at the start, in bytes
	mostBehind    = 2000    // calls by which a browser may be behind before it is cut
	mostListeners = 64
	mostAtOnce    = 500 // calls in one event
	sendTimeout   = 5 * time.Second
	lookEvery     = time.Second // for approvals
	retryEvery    = 2 * time.Second
)

// seen is a call of the feed.
type seen struct {
	audit.Record

	Number uint64 // counts up
}

// feed are the latest calls, and who is told of those that come. The zero value is ready.
type feed struct {
	mu        sync.Mutex
	number    uint64
	recent    []seen // the latest is the last
	listeners map[chan seen]bool
}

// follow reads the record until ctx is done, whatever goes wrong.
func (f *feed) follow(ctx context.Context, log string, failed func(error)) {
	bytes := int64(readAtStart)
	for ctx.Err() == nil {
		if err := audit.FollowLatest(ctx, log, bytes, func(r audit.Record) error { f.add(r); return nil }); err != nil {
			failed(err)
		}
		bytes = 0 // what is known stays
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
}

func (f *feed) add(r audit.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	one := seen{r, f.number}
	if len(f.recent) >= 2*mostRecent {
		f.recent = append(f.recent[:0:0], f.recent[mostRecent:]...)
	}
	f.recent = append(f.recent, one)
	for l := range f.listeners {
		select {
		case l <- one:
		default: // it is too slow; its browser connects again
			delete(f.listeners, l)
			close(l)
		}
	}
}

// latest are the calls that somebody wants, the newest first, and the number of the newest of all.
func (f *feed) latest(wanted func(audit.Record) bool, most int) (calls []seen, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.recent) - 1; i >= 0 && len(calls) < most; i-- {
		if wanted(f.recent[i].Record) {
			calls = append(calls, f.recent[i])
		}
	}
	return calls, f.number
}

// find is a call that is in memory.
func (f *feed) find(session string, at time.Time) (audit.Record, bool) {
	calls, _ := f.latest(func(r audit.Record) bool { return r.Session == session && r.Time.Equal(at) }, 1)
	if len(calls) == 0 {
		return audit.Record{}, false
	}
	return calls[0].Record, true
}

// listen returns a channel of the calls after one; nil if there are too many listeners. It is closed for a listener
// that is too slow.
func (f *feed) listen(after uint64) chan seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) >= mostListeners {
		return nil
	}
	l := make(chan seen, mostBehind)
	for _, one := range f.recent[max(0, len(f.recent)-mostBehind):] {
		if one.Number > after {
			l <- one
		}
	}
	if f.listeners == nil {
		f.listeners = map[chan seen]bool{}
	}
	f.listeners[l] = true
	return l
}

func (f *feed) leave(l chan seen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
}

// stream tells a browser of the calls that its page shows, and of approvals, as server-sent events.
func (c *Console) stream(w http.ResponseWriter, v *visit) error {
	filter, err := filterOf(v.URL.Query())
	if err != nil {
		return err
	}
	after, _ := strconv.ParseUint(v.FormValue("after"), 10, 64)
	if last := v.Header.Get("Last-Event-ID"); last != "" {
		after, _ = strconv.ParseUint(last, 10, 64)
	}
	calls := c.feed.listen(after)
	if calls == nil {
		return &refusal{http.StatusServiceUnavailable, "Too many pages are open."}
	}
	defer c.feed.leave(calls)
	w.Header().Set("Content-Type", "text/event-stream")
	out := &events{w: w, to: http.NewResponseController(w)}
	out.send("", "retry: 1000\n\n")
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	over := time.NewTimer(v.until.Sub(c.doors.time()))
	defer over.Stop()
	waiting := ""
	for out.err == nil {
		select {
		case one, ok := <-calls:
			if !ok {
				return nil
			}
			c.sendCalls(out, filter, append([]seen{one}, drained(calls)...))
		case <-look.C:
			all, err := approvals.List(c.options.Home)
			if err != nil {
				continue
			}
			var ids []string
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			now := strings.Join(ids, " ")
			if now != waiting || out.quiet() {
				waiting = now
				out.json("approvals", 0, map[string]any{"count": len(all), "ids": now})
			}
		case <-v.Context().Done():
			return nil
		case <-v.ended:
			return nil
		case <-over.C:
			return nil
		}
	}
	return nil
}

// drained are the calls that are there already.
func drained(calls chan seen) (all []seen) {
	for len(all) < mostAtOnce {
		select {
		case one, ok := <-calls:
			if !ok {
				return all
			}
			all = append(all, one)
		default:
			return all
		}
	}
	return all
}

// sendCalls sends the rows of those calls that are wanted, the newest first.
func (c *Console) sendCalls(out *events, filter filter, all []seen) {
	var rows bytes.Buffer
	count := 0
	for i := len(all) - 1; i >= 0; i-- {
		if !filter.matches(all[i].Record) {
			continue
		}
		count++
		if err := c.row.Execute(&rows, all[i]); err != nil {
			c.options.Logger.Error("a call could not be shown", "error", err)
			return
		}
	}
	if count > 0 {
		out.json("calls", all[len(all)-1].Number, map[string]any{"count": count, "rows": string(visible(rows.Bytes()))})
	}
}

// events writes server-sent events. A browser that does not take one in time is cut.
type events struct {
	w    http.ResponseWriter
	to   *http.ResponseController
	last time.Time
	err  error
}

// quiet reports whether nothing was sent for so long that a browser may be gone.
func (e *events) quiet() bool { return time.Since(e.last) > 15*time.Second }

func (e *events) json(name string, id uint64, data any) {
	text, err := json.Marshal(data) // in one line
	if err != nil {
		e.err = err
		return
	}
	head := "event: " + name + "\n"
	if id > 0 {
		head += fmt.Sprintf("id: %d\n", id)
	}
	e.send(head, "data: "+string(text)+"\n\n")
}

func (e *events) send(head, data string) {
	e.last = time.Now()
	if e.err = e.to.SetWriteDeadline(e.last.Add(sendTimeout)); e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(head + data)); e.err == nil {
		e.err = e.to.Flush()
	}
}
