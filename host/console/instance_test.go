package console

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/store"
)

// evil is what somebody would have run in the browser of whoever looks at it.
const evil = `"><script>alert(1)</script>'`

// evilTool is what switches a tool off.
var evilTool = store.DisableRule{Plugin: evil, Tool: "exec" + evil, Agent: "main"}

// The world stands for a host, whose names and texts are all hostile.

func (w *world) Agents() ([]Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tool := AgentTool{Name: evilTool.Tool, Enabled: !w.off[evilTool], Switched: w.off[evilTool], Why: evil}
	held := []AgentPlugin{{ID: evil, Enabled: true, Grants: evil, Hosts: []string{evil}, Tools: []AgentTool{tool}}}
	return []Agent{
		{ID: "main", Workspace: evil, Words: evil, Settings: []AgentSetting{{evil, evil, evil}}, Plugins: held, Jobs: true,
			Network: AgentNetworkAccess{Words: evil, Allow: []string{evil}, Ask: []string{evil}, Deny: []string{evil}}, Heartbeat: time.Hour},
		{ID: evil, Workspace: "/w", Restricted: true, Words: "x", Plugins: held},
	}, nil
}

func (w *world) Plugins() ([]Plugin, error) {
	return []Plugin{
		{ID: evil, Version: evil, Kind: evil, State: evil, Why: evil, Doc: evil, Source: evil, Signer: evil,
			Pins: []string{evil}, Installed: time.Unix(1, 0), Asks: evil, Granted: evil, Meaning: []string{evil},
			Agents: []string{evil}, Tools: []PluginTool{{evil, evil}}, Off: []string{evil}, Withdrawn: []string{evil}, Waiting: evil,
			Server: evil, Diff: evil},
		{ID: "grep", State: "ok", Granted: "none"},
	}, nil
}

func (w *world) SetToolEnabled(off store.DisableRule, on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if off.Tool == "" {
		return errors.New("the configuration says " + evil)
	}
	if w.off == nil {
		w.off = map[store.DisableRule]bool{}
	}
	w.off[off] = !on
	return nil
}

func (w *world) Examine(_ context.Context, agent string) (*doctor.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.walls++
	return &doctor.Report{Agent: agent, Findings: []doctor.Finding{{Protection: evil, State: doctor.Off, Why: evil, Fix: evil}}}, nil
}

// post sends a form.
func (b *browser) post(page string, form url.Values) (int, string) {
	b.t.Helper()
	form.Set("csrf", b.csrf())
	status, text, _ := b.send("POST", b.at+page, form, nil)
	return status, text
}

func (b *browser) shows(page string, texts ...string) string {
	b.t.Helper()
	status, text := b.get(page)
	if status != 200 {
		b.t.Fatalf("%s: %d %s", page, status, text)
	}
	if strings.Contains(text, "<script>") || strings.Contains(text, "style=") {
		b.t.Errorf("%s has what a stranger has put there: %s", page, text)
	}
	if tables := strings.Count(text, "<table>"); strings.Count(text, "<caption") != tables {
		b.t.Errorf("%s has %d tables, and not as many captions", page, tables)
	}
	for _, want := range texts {
		if !strings.Contains(text, want) {
			b.t.Errorf("%s lacks %q: %s", page, want, text)
		}
	}
	return text
}

const shownEvil = `&lt;script&gt;alert(1)&lt;/script&gt;`

func TestUntrustedNamesAreEscaped(t *testing.T) {
	w := newWorld(t)
	jobs := schedule.OpenStore(w.home, "main")
	if _, err := jobs.AddJob(schedule.Job{Name: evil, Enabled: true, Schedule: schedule.Schedule{Kind: schedule.Cron,
		Expr: "0 9 * * *"}, Payload: schedule.JobPayload{Kind: schedule.AgentTurn, Message: evil}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf(`{"time":"2026-01-01T00:00:00Z","job":"heartbeat","name":%[1]q,"ms":1,"status":"ok","text":%[1]q}`,
		evil)
	runs := filepath.Join(schedule.StoreDir(w.home, "main"), "runs.jsonl")
	if err := os.WriteFile(runs, []byte(run+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killswitch.StopAgent(w.home, killswitch.Stop{Agent: "main", By: evil, Why: evil}); err != nil {
		t.Fatal(err)
	}
	w.write(audit.Record{Time: time.Now(), Agent: evil, Session: "s" + evil, Origin: evil, Tool: evil, Decision: "deny",
		Rule: evil, Error: evil, Args: map[string]any{evil: evil}})
	w.write(audit.Record{Time: time.Now(), Agent: evil, Session: "n", Tool: "network", Decision: "deny", Rule: evil,
		Args: map[string]any{"host": evil, "port": 443, "times": 3, "sent": 10}})
	for _, operate := range []bool{false, true} {
		b := w.open(operate)
		if status, _ := b.post("doctor", url.Values{"agent": {evil}}); status != 200 {
			t.Errorf("examine: %d", status)
		}
		b.shows("agents", shownEvil, "stopped")
		b.shows("agent?"+url.Values{"id": {"main"}}.Encode(), shownEvil, "a heartbeat every 1h0m0s")
		b.shows("agent?"+url.Values{"id": {evil}}.Encode(), shownEvil)
		b.shows("plugins", shownEvil, "1 of them needs a review")
		b.shows("network", shownEvil, `<td class="number">3</td><td class="number">10</td>`)
		b.shows("schedule", shownEvil, "The last 1 runs")
		b.shows("doctor?"+url.Values{"agent": {evil}}.Encode(), shownEvil, "does not work")
		b.shows("audit", shownEvil, "2 calls")
		q := url.Values{"tool": {evil}, "text": {evil}, "agent": {evil}, "session": {"s" + evil}}
		b.shows("audit?"+q.Encode(), shownEvil, "1 calls")
	}
	if w.walls != 2 {
		t.Errorf("walls were examined %d times", w.walls)
	}
}

func TestActionsRequireOperateSession(t *testing.T) {
	w := newWorld(t)
	toggle := func(do string) url.Values {
		return url.Values{"do": {do}, "agent": {"main"}, "plugin": {evil}, "tool": {"exec" + evil}}
	}
	looks, acts := w.open(false), w.open(true)
	for page, form := range map[string]url.Values{"agents": {"do": {"stop"}, "agent": {"main"}}, "agent": toggle("off")} {
		if status, _ := looks.post(page, form); status != 403 {
			t.Errorf("%s of a session that looks: %d", page, status)
		}
		status, _, _ := acts.send("POST", acts.at+page, form, nil) // the other session's csrf is in it
		if status != 403 {
			t.Errorf("%s with another session's form: %d", page, status)
		}
	}
	for _, page := range []string{"agents", "agent?id=main"} {
		if text := looks.shows(page); strings.Contains(text, `name="do"`) {
			t.Errorf("%s offers a session that looks to act", page)
		}
	}
	if len(w.off) > 0 || killswitch.ReadStopOfAgent(w.home, "main") != nil {
		t.Fatal("it was done all the same")
	}

	stop := url.Values{"do": {"stop"}, "agent": {"main"}, "why": {"it loops"}}
	if status, _ := acts.post("agents", stop); status != 200 {
		t.Errorf("stop: %d", status)
	}
	if stop := killswitch.ReadStopOfAgent(w.home, "main"); stop == nil || stop.By != "somebody" || stop.Why != "it loops" {
		t.Errorf("%+v", stop)
	}
	acts.shows("agent?id=main", "it loops", "Resume the agent")
	start := url.Values{"do": {"start"}, "agent": {"main"}, "on": {"page"}}
	if status, text := acts.post("agents", start); status != 200 ||
		killswitch.ReadStopOfAgent(w.home, "main") != nil || !strings.Contains(text, "Stop the agent") {
		t.Errorf("start: %d", status)
	}
	if status, _ := acts.post("agent", toggle("off")); status != 200 || !w.off[evilTool] {
		t.Errorf("off: %d %v", status, w.off)
	}
	acts.shows("agent?id=main", `value="on"`)
	if status, _ := acts.post("agent", toggle("on")); status != 200 || w.off[evilTool] {
		t.Errorf("on: %d %v", status, w.off)
	}
	for _, wrong := range []struct {
		page   string
		form   url.Values
		status int
	}{
		{"agents", url.Values{"do": {"stop"}, "agent": {"../x"}}, 404},
		{"agents", url.Values{"do": {"x"}}, 404},
		{"agent", url.Values{"do": {"off"}, "agent": {"main"}, "plugin": {"*"}}, 404},
		{"agent", url.Values{"do": {"off"}, "agent": {"*"}, "plugin": {evil}}, 404},
		{"agent", url.Values{"do": {"off"}, "agent": {"main"}, "plugin": {evil}, "tool": {"*"}}, 404},
		{"agent", url.Values{"do": {"on"}, "agent": {"main"}, "plugin": {evil}}, 409}, // as the configuration says otherwise
		{"doctor", url.Values{"agent": {"nobody"}}, 404},
	} {
		if status, _ := acts.post(wrong.page, wrong.form); status != wrong.status {
			t.Errorf("%s with %v: %d", wrong.page, wrong.form, status)
		}
	}
}

func TestAuditPage(t *testing.T) {
	w := newWorld(t)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	var last audit.Record
	for i := range 120 {
		last = audit.Record{Time: begin.Add(time.Duration(i) * time.Second).UTC(), Agent: fmt.Sprint("a", i%2), Session: "s",
			Origin: "cli", Tool: "t.x", Decision: "allow", Args: map[string]any{"n": fmt.Sprint("no-", i, ".")}}
		if err := w.log.Write(last); err != nil {
			t.Fatal(err)
		}
	}
	b := w.open(false)
	text := b.shows("audit?agent=a1&text=no-", "50 calls", "no-119.", "Searched back to")
	if strings.Contains(text, "no-118.") {
		t.Error("the filter does not hold")
	}
	_, rest, _ := strings.Cut(text, `rel="next" href="`)
	next, _, _ := strings.Cut(rest, `"`)
	text = b.shows(strings.ReplaceAll(next, "&amp;", "&"), "10 calls", "older part", "no-1.")
	if strings.Contains(text, "Older calls") {
		t.Error("there is no end")
	}
	for _, wrong := range []string{"audit?tool=[", "audit?since=x", "audit?decision=x", "audit?after=x", "export?format=x",
		"export?format=csv&until=x"} {
		if status, _ := b.get(wrong); status != 400 {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	if status, _ := b.get("audit?after=0123456789abcdef-0"); status != 404 {
		t.Errorf("a place that is gone: %d", status)
	}

	status, text := b.get("export?format=csv&agent=a0")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || status != 200 || len(rows) != 61 {
		t.Errorf("csv: %d, %d rows (%v)", status, len(rows), err)
	}
	_, text = b.get("export?format=jsonl&text=no-7.")
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `"no-7."`) {
		t.Errorf("jsonl: %s", text)
	}

	b.shows("audit", "Not verified since")
	if status, text = b.post("audit", url.Values{}); status != 200 ||
		!strings.Contains(text, "The chain is valid</span> over 120 records") {
		t.Errorf("verify: %d %s", status, text)
	}
	path := filepath.Join(w.home, "logs", "audit.jsonl")
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(log), "no-60.", "no-61.", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text = b.post("audit", url.Values{}); status != 200 || !strings.Contains(text, "Broken:") ||
		!strings.Contains(text, "audit.jsonl:61") {
		t.Errorf("verify: %d %s", status, text)
	}
	// A call that the feed has not is found in the record.
	b.shows("call?"+url.Values{"session": {"s"}, "at": {begin.UTC().Format(time.RFC3339Nano)}}.Encode(), "no-0.")
}

func TestConnectionsAreGrouped(t *testing.T) {
	now := time.Now()
	record := func(agent, host, decision string, args map[string]any) audit.Record {
		args["host"], args["port"] = host, 443.0
		return audit.Record{Time: now, Agent: agent, Tool: "network", Decision: decision, Args: args}
	}
	got := groupConnections([]audit.Record{
		record("a", "x.org", "allow", map[string]any{"sent": 1.0, "received": 2.0}),
		record("a", "x.org", "allow", map[string]any{"times": 9.0, "sent": 10.0, "received": 20.0}),
		record("b", "x.org", "allow", map[string]any{}), record("a", "y.org", "deny", map[string]any{}),
		{Tool: "other.network", Args: map[string]any{"host": "z.org"}}, {Tool: "network", Args: map[string]any{"host": 7}},
	})
	if len(got) != 4 || got[0].Host != "y.org" || !got[0].Refused || got[1].Times != 10 || got[1].Sent != 11 ||
		got[1].Received != 22 {
		t.Errorf("%+v", got)
	}
}
