package console

import (
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/redact"
)

// maxRows limits the calls on the calls page.
const maxRows = 200

// callFilter selects calls for the calls page.
type callFilter struct {
	Agent, Session, Tool string
	Outcome              string // one of outcomes; empty for all
	Wall                 string // one of walls; empty for all
}

var outcomes = []string{"ok", "failed", "refused", "asked", "open"}

// parseFilter parses the filter in a URL query.
func parseFilter(q url.Values) (callFilter, error) {
	f := callFilter{q.Get("agent"), q.Get("session"), q.Get("tool"), q.Get("outcome"), q.Get("wall")}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, &httpError{400, "The tool is neither a name nor a glob."}
	}
	return f, nil
}

func (f callFilter) matchesCall(r audit.Record) bool {
	if !(audit.Filter{Agent: f.Agent, Session: f.Session, Tool: f.Tool}).Matches(r) || f.Wall != "" && refusingLayer(r) != f.Wall {
		return false
	}
	return f.Outcome == "" || callOutcome(r) == f.Outcome || f.Outcome == "asked" && r.Decision == "ask"
}

// queryValues returns the filter as a URL query.
func (f callFilter) queryValues() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"agent": f.Agent, "session": f.Session, "tool": f.Tool,
		"outcome": f.Outcome, "wall": f.Wall} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// callOutcome describes how a call ended.
func callOutcome(r audit.Record) string {
	switch {
	case r.WasDenied():
		return "refused"
	case r.IsOpen():
		return "open"
	case r.Error != "":
		return "failed"
	}
	return "ok"
}

// callsView is the data of the calls page.
type callsView struct {
	Filter   callFilter
	Filtered bool
	Agents   []string
	Outcomes []string
	Walls    []string
	Calls    []numberedCall
	Stream   string // URL of new calls
}

func (c *Console) showCalls(v *authenticatedRequest) (any, error) {
	f, err := parseFilter(v.URL.Query())
	if err != nil {
		return nil, err
	}
	view := callsView{Filter: f, Filtered: f != callFilter{}, Outcomes: outcomes}
	everything, _ := c.feed.latestCalls(func(audit.Record) bool { return true }, maxRecent)
	for _, one := range everything {
		if !slices.Contains(view.Agents, one.Agent) {
			view.Agents = append(view.Agents, one.Agent)
		}
		if by := refusingLayer(one.Record); by != "" && !slices.Contains(view.Walls, by) {
			view.Walls = append(view.Walls, by)
		}
	}
	slices.Sort(view.Agents)
	slices.Sort(view.Walls)
	var last uint64
	view.Calls, last = c.feed.latestCalls(f.matchesCall, maxRows)
	q := f.queryValues()
	q.Set("after", strconv.FormatUint(last, 10))
	view.Stream = "stream?" + q.Encode()
	return view, nil
}

// maxLineBytes limits the arguments in a row of the calls page.
const maxLineBytes = 160

// templateFuncs returns the functions that templates can call.
func templateFuncs() template.FuncMap {
	return template.FuncMap{
		"wall":      refusingLayer,
		"outcome":   callOutcome,
		"when":      func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
		"clock":     func(t time.Time) string { return t.Local().Format("15:04:05.000") },
		"rfc3339":   func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"ms":        func(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) },
		"line":      func(args map[string]any) string { return clipText(formatArgumentsLine(args), maxLineBytes) },
		"callURL":   callURL,
		"agentURL":  func(id string) string { return "agent?" + url.Values{"id": {id}}.Encode() },
		"callsOf":   func(agent string) string { return "calls?" + url.Values{"agent": {agent}}.Encode() },
		"decisions": audit.DecisionNames,
	}
}

// formatArgumentsLine formats arguments as one line of JSON.
func formatArgumentsLine(args map[string]any) string {
	if len(args) == 0 {
		return ""
	}
	text, err := jsonv2.Marshal(args, jsonv2.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}

// callURL returns the URL of a call's page.
func callURL(r audit.Record) string {
	return "call?" + url.Values{"session": {r.Session}, "at": {r.Time.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// clipText cuts a text at a character boundary.
func clipText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// formatArgument returns a text argument unchanged, and others as JSON.
func formatArgument(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// callView is the data for the template of a call's page.
type callView struct {
	Call      audit.Record
	Arguments []argumentRow
	Answer    RedactedResult
	Own       bool // made by this gateway
}

// argumentRow is one argument of a call.
type argumentRow struct{ Name, Value string }

func (c *Console) showCall(v *authenticatedRequest) (any, error) {
	session := v.FormValue("session")
	at, err := time.Parse(time.RFC3339Nano, v.FormValue("at"))
	if err != nil {
		return nil, newNotFoundError("The address names no call.")
	}
	call, ok := c.feed.findCall(session, at)
	if !ok {
		if call, err = audit.FindCall(c.options.Log, session, at); errors.Is(err, audit.ErrNotInLog) {
			return nil, newNotFoundError("The audit log has no such call, or no longer.")
		} else if err != nil {
			return nil, err
		}
	}
	view := callView{Call: call, Answer: c.results.findResult(session, at)}
	for _, name := range slices.Sorted(maps.Keys(call.Args)) {
		view.Arguments = append(view.Arguments, argumentRow{name, formatArgument(call.Args[name])})
	}
	return view, nil
}

// Limits of the stored results.
const (
	maxResults     = 500
	maxResultBytes = 32 << 10
	redactMargin   = 4 << 10 // stored in addition, so that no secret is cut in two before it is redacted
)

// resultStore has the results of this process's latest calls, which the audit log lacks. The zero value is ready to
// use.
type resultStore struct {
	mu    sync.Mutex
	byKey map[callKey]storedResult
	order []callKey // the oldest first
}

// callKey identifies a call.
type callKey struct {
	session string
	at      int64
}

type storedResult struct {
	text  string // not yet redacted
	bytes int
}

func newCallKey(session string, at time.Time) callKey { return callKey{session, at.UnixNano()} }

func (s *resultStore) keepResult(r audit.Record, text string) {
	one := storedResult{text: text, bytes: len(text)}
	if most := maxResultBytes + redactMargin; len(text) > most {
		one.text = strings.Clone(text[:most]) // frees the rest
	}
	key := newCallKey(r.Session, r.Time)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[callKey]storedResult{}
	}
	if len(s.order) >= maxResults {
		delete(s.byKey, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	s.byKey[key] = one
	s.order = append(s.order, key)
}

// RedactedResult is a call's redacted result for the call's page.
type RedactedResult struct {
	Kept bool
	Text string
	Cut  int // original size in bytes, if cut
}

func (s *resultStore) findResult(session string, at time.Time) RedactedResult {
	s.mu.Lock()
	one, ok := s.byKey[newCallKey(session, at)]
	s.mu.Unlock()
	if !ok {
		return RedactedResult{}
	}
	out := RedactedResult{Kept: true, Text: clipText(redact.RedactText(strings.ToValidUTF8(one.text, "\uFFFD")), maxResultBytes)}
	if one.bytes > maxResultBytes {
		out.Cut = one.bytes
	}
	return out
}
