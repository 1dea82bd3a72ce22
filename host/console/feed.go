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

// Limits of the call feed.
const (
	maxRecent         = 2000    // calls in memory
	initialBytes      = 1 << 20 // of the audit log, read at start
	maxBehind         = 2000    // calls a browser may lag before it is disconnected
	maxListeners      = 64
	maxBatch          = 500 // calls in one event
	sendTimeout       = 5 * time.Second
	approvalInterval  = time.Second // for polling approvals
	retryInterval     = 2 * time.Second
	keepAliveInterval = 15 * time.Second
)

// numberedCall is a call with its number in the feed.
type numberedCall struct {
	audit.Record

	Number uint64 // increasing
}

// callFeed has the latest calls, and sends new calls to listeners. The zero value is ready to use.
type callFeed struct {
	mu        sync.Mutex
	number    uint64
	recent    []numberedCall // the last is the latest
	listeners map[chan numberedCall]bool
}

// followLog reads new entries of the audit log until ctx is done. It reports errors to failed and tries again.
func (f *callFeed) followLog(ctx context.Context, log string, failed func(error)) {
	bytes := int64(initialBytes)
	for ctx.Err() == nil {
		if err := audit.FollowLogTail(ctx, log, bytes, func(r audit.Record) error { f.addCall(r); return nil }); err != nil {
			failed(err)
		}
		bytes = 0 // keep the calls in memory
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

func (f *callFeed) addCall(r audit.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	one := numberedCall{r, f.number}
	if len(f.recent) >= 2*maxRecent {
		f.recent = append(f.recent[:0:0], f.recent[maxRecent:]...)
	}
	f.recent = append(f.recent, one)
	for l := range f.listeners {
		select {
		case l <- one:
		default: // too slow; the browser reconnects
			delete(f.listeners, l)
			close(l)
		}
	}
}

// latestCalls returns up to most calls for which wanted is true, the newest first, and the number of the newest call.
func (f *callFeed) latestCalls(wanted func(audit.Record) bool, most int) (calls []numberedCall, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.recent) - 1; i >= 0 && len(calls) < most; i-- {
		if wanted(f.recent[i].Record) {
			calls = append(calls, f.recent[i])
		}
	}
	return calls, f.number
}

// findCall returns a call if it is still in memory.
func (f *callFeed) findCall(session string, at time.Time) (audit.Record, bool) {
	calls, _ := f.latestCalls(func(r audit.Record) bool { return r.Session == session && r.Time.Equal(at) }, 1)
	if len(calls) == 0 {
		return audit.Record{}, false
	}
	return calls[0].Record, true
}

// addListener returns a channel that receives the calls after a number; nil if there are too many listeners. The feed
// closes the channel of a listener that is too slow.
func (f *callFeed) addListener(after uint64) chan numberedCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) >= maxListeners {
		return nil
	}
	l := make(chan numberedCall, maxBehind)
	for _, one := range f.recent[max(0, len(f.recent)-maxBehind):] {
		if one.Number > after {
			l <- one
		}
	}
	if f.listeners == nil {
		f.listeners = map[chan numberedCall]bool{}
	}
	f.listeners[l] = true
	return l
}

func (f *callFeed) removeListener(l chan numberedCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
}

// streamCalls sends new calls and the number of waiting approvals as server-sent events.
func (c *Console) streamCalls(w http.ResponseWriter, v *authenticatedRequest) error {
	filter, err := parseFilter(v.URL.Query())
	if err != nil {
		return err
	}
	after, _ := strconv.ParseUint(v.FormValue("after"), 10, 64)
	if last := v.Header.Get("Last-Event-ID"); last != "" {
		after, _ = strconv.ParseUint(last, 10, 64)
	}
	calls := c.feed.addListener(after)
	if calls == nil {
		return &httpError{http.StatusServiceUnavailable, "Too many pages are open."}
	}
	defer c.feed.removeListener(calls)
	w.Header().Set("Content-Type", "text/event-stream")
	out := &sseWriter{w: w, control: http.NewResponseController(w)}
	out.sendEvent("", "retry: 1000\n\n")
	look := time.NewTicker(approvalInterval)
	defer look.Stop()
	over := time.NewTimer(v.until.Sub(c.sessions.currentTime()))
	defer over.Stop()
	waiting := ""
	for out.err == nil {
		select {
		case one, ok := <-calls:
			if !ok {
				return nil
			}
			c.sendCalls(out, filter, append([]numberedCall{one}, drainCalls(calls)...))
		case <-look.C:
			all, err := approvals.ListWaitingCalls(c.options.Home)
			if err != nil {
				continue
			}
			var ids []string
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			now := strings.Join(ids, " ")
			if now != waiting || time.Since(out.last) > keepAliveInterval {
				waiting = now
				out.sendJSON("approvals", 0, map[string]any{"count": len(all), "ids": now})
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

// drainCalls removes and returns the calls in a channel without waiting.
func drainCalls(calls chan numberedCall) (all []numberedCall) {
	for len(all) < maxBatch {
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

// sendCalls sends the table rows of matching calls, the newest first.
func (c *Console) sendCalls(out *sseWriter, filter callFilter, all []numberedCall) {
	var rows bytes.Buffer
	count := 0
	for i := len(all) - 1; i >= 0; i-- {
		if !filter.matchesCall(all[i].Record) {
			continue
		}
		count++
		if err := c.rowTemplate.Execute(&rows, all[i]); err != nil {
			c.options.Logger.Error("a call could not be shown", "error", err)
			return
		}
	}
	if count > 0 {
		out.sendJSON("calls", all[len(all)-1].Number, map[string]any{"count": count, "rows": string(escapeHiddenCharacters(rows.Bytes()))})
	}
}

// sseWriter writes server-sent events. It disconnects slow browsers.
type sseWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
	err     error
}

func (e *sseWriter) sendJSON(name string, id uint64, data any) {
	text, err := json.Marshal(data) // no line breaks
	if err != nil {
		e.err = err
		return
	}
	head := "event: " + name + "\n"
	if id > 0 {
		head += fmt.Sprintf("id: %d\n", id)
	}
	e.sendEvent(head, "data: "+string(text)+"\n\n")
}

func (e *sseWriter) sendEvent(head, data string) {
	e.last = time.Now()
	if e.err = e.control.SetWriteDeadline(e.last.Add(sendTimeout)); e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(head + data)); e.err == nil {
		e.err = e.control.Flush()
	}
}
