package console

import (
	"encoding/json"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/picoclaw/picoclaw/host/audit"
)

// mostRows is how many calls the page shows.
const mostRows = 200

// filter says which calls are wanted.
type filter struct {
	Agent, Session, Tool string
	Outcome              string // one of outcomes; empty for all
	Wall                 string // one of walls; empty for all
}

var outcomes = []string{"ok", "failed", "refused", "asked", "open"}

// filterOf reads a filter from a query.
func filterOf(q url.Values) (filter, error) {
	f := filter{q.Get("agent"), q.Get("session"), q.Get("tool"), q.Get("outcome"), q.Get("wall")}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, &refusal{400, "The tool is neither a name nor a glob."}
	}
	return f, nil
}

func (f filter) matches(r audit.Record) bool {
	if !(audit.Filter{Agent: f.Agent, Session: f.Session, Tool: f.Tool}).Matches(r) || f.Wall != "" && wall(r) != f.Wall {
		return false
	}
	return f.Outcome == "" || outcome(r) == f.Outcome || f.Outcome == "asked" && r.Decision == "ask"
}

// query is the filter as a query has it.
func (f filter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"agent": f.Agent, "session": f.Session, "tool": f.Tool,
		"outcome": f.Outcome, "wall": f.Wall} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// outcome is how a call has ended.
func outcome(r audit.Record) string {
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

// callsView is what the page of calls shows.
type callsView struct {
	Filter   filter
	Filtered bool
	Agents   []string
	Outcomes []string
	Walls    []string
	Calls    []seen
	Stream   string // where those that come are told
}

func (c *Console) showCalls(v *visit) (any, error) {
	f, err := filterOf(v.URL.Query())
	if err != nil {
		return nil, err
	}
	view := callsView{Filter: f, Filtered: f != filter{}, Outcomes: outcomes}
	everything, _ := c.feed.latest(func(audit.Record) bool { return true }, mostRecent)
	for _, one := range everything {
		if !slices.Contains(view.Agents, one.Agent) {
			view.Agents = append(view.Agents, one.Agent)
		}
		if by := wall(one.Record); by != "" && !slices.Contains(view.Walls, by) {
			view.Walls = append(view.Walls, by)
		}
	}
	slices.Sort(view.Agents)
	slices.Sort(view.Walls)
	var last uint64
	view.Calls, last = c.feed.latest(f.matches, mostRows)
	q := f.query()
	q.Set("after", strconv.FormatUint(last, 10))
	view.Stream = "stream?" + q.Encode()
	return view, nil
}

// mostLine is how much of a call's arguments a row shows, in bytes.
const mostLine = 160

// functions are what templates may use.
func functions() template.FuncMap {
	return template.FuncMap{
		"wall":      wall,
		"outcome":   outcome,
		"when":      func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
		"clock":     func(t time.Time) string { return t.Local().Format("15:04:05.000") },
		"rfc3339":   func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"ms":        func(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) },
		"line":      func(args map[string]any) string { return clip(oneLine(args), mostLine) },
		"callURL":   callURL,
		"agentURL":  func(id string) string { return "agent?" + url.Values{"id": {id}}.Encode() },
		"callsOf":   func(agent string) string { return "calls?" + url.Values{"agent": {agent}}.Encode() },
		"decisions": audit.Decisions,
	}
}

// oneLine are arguments as a line of JSON.
func oneLine(args map[string]any) string {
	if len(args) == 0 {
		return ""
	}
	text, err := jsonv2.Marshal(args, jsonv2.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}

// callURL leads to the page of a call.
func callURL(r audit.Record) string {
	return "call?" + url.Values{"session": {r.Session}, "at": {r.Time.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// clip is the beginning of a text, cut between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// value is an argument as it is shown: a text as it is, anything else as JSON.
func value(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}
