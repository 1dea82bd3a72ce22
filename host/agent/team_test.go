package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// scripted is a model whose answers are a function of what it is asked.
type scripted func(ctx context.Context, r ModelRequest) (*ModelReply, error)

func (f scripted) Generate(ctx context.Context, r ModelRequest, _ func(string)) (*ModelReply, error) {
	return f(ctx, r)
}

// says answers one thing after another, the last one for ever: a text, or a call as "tool {arguments}".
func says(answers ...string) scripted {
	var mu sync.Mutex
	asked := 0
	return func(context.Context, ModelRequest) (*ModelReply, error) {
		mu.Lock()
		defer mu.Unlock()
		text := answers[min(asked, len(answers)-1)]
		asked++
		m := Message{Role: Assistant, Text: text}
		if tool, arguments, isCall := strings.Cut(text, " {"); isCall {
			m.Text, m.Calls = "", []ToolCall{{ID: fmt.Sprint(asked), Tool: tool, Arguments: json.RawMessage("{" + arguments)}}
		}
		return &ModelReply{Message: m, Usage: TokenUsage{Input: 10, Output: 1}, Stop: StopEnded}, nil
	}
}

// blocked answers when its context ends.
func blocked(begun chan<- struct{}) scripted {
	return func(ctx context.Context, _ ModelRequest) (*ModelReply, error) {
		if begun != nil {
			begun <- struct{}{}
		}
		<-ctx.Done()
		return nil, &ModelError{Message: "broken off"}
	}
}

// on are a team's tools on a session, and one that waits until all children have ended.
type on struct {
	t       *testing.T
	team    *Team
	session *session.Session
}

func (o on) Tools() []session.Tool { return nil }

func (o on) Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result {
	if tool == "settle" {
		o.team.mu.Lock()
		children := o.team.groups[o.session].children
		o.team.mu.Unlock()
		for _, c := range children {
			<-c.done
		}
		return &session.Result{Text: "settled"}
	}
	p, err := o.team.BuiltinPlugin()
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, done := context.WithCancel(ctx) // as a session's call has its own
	defer done()
	for _, one := range p.Tools {
		if one.Spec.Name == tool {
			return one.Call(ctx, o.session, arguments, events)
		}
	}
	return &session.Result{Err: &session.Error{Message: "there is no tool " + tool}}
}

// teamOf makes a team whose children have a model each, by the text of their task.
func teamOf(t *testing.T, change func(*TeamOptions), children map[string]Model) *Team {
	t.Helper()
	var team *Team
	o := TeamOptions{Limits: func(*session.Session) TeamLimits { return DefaultTeamLimits() }}
	o.Open = func(_ context.Context, task ChildTask) (*TaskAgent, error) {
		m := children[task.Text]
		if m == nil {
			return nil, errors.New("nobody is there")
		}
		s := &session.Session{}
		return &TaskAgent{Session: s, Agent: New(Options{Model: m, Tools: on{t, team, s}, Inbox: team.SessionInbox(s)})}, nil
	}
	if change != nil {
		change(&o)
	}
	team = NewTeam(o)
	t.Cleanup(team.Close)
	return team
}

// parentOf makes an agent that has the team's tools.
func parentOf(t *testing.T, team *Team, m Model, s LoopSettings) (*Agent, *Transcript) {
	sess, transcript := &session.Session{}, NewTranscript()
	a := New(Options{Model: m, Tools: on{t, team, sess}, Inbox: team.SessionInbox(sess), Transcript: transcript,
		Settings: s})
	return a, transcript
}

func texts(transcript *Transcript) string {
	var all []string
	for _, m := range transcript.Messages() {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

func TestSubagentIsAwaited(t *testing.T) {
	var seen []string
	team := teamOf(t, func(o *TeamOptions) {
		o.Observe = func(c ChildStatus, e TurnEvent) { seen = append(seen, c.Label+" "+string(e.Kind)) }
	}, map[string]Model{"count": says("spawn_status {}", "there are 7")})
	a, transcript := parentOf(t, team, says(`subagent {"task":"count","label":"counter"}`, "seven"), LoopSettings{})
	out, err := a.RunTurn(t.Context(), "go", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(texts(transcript), "\nthere are 7\n</data-") {
		t.Errorf("the parent has read %s", texts(transcript))
	}
	if out.Usage.TotalTokens() != 44 || out.Calls != 2 {
		t.Errorf("with its child it has used %+v, %d calls", out.Usage, out.Calls)
	}
	if len(seen) != 2 || seen[0] != "counter call" {
		t.Errorf("the events are %q", seen)
	}
}

func TestSpawnResultReachesParent(t *testing.T) {
	asked := make(chan struct{}) // closed when the parent is asked for what it does after it
	counts, parent := says("there are 7"), says(`spawn {"task":"count"}`, "settle {}", "seven")
	team := teamOf(t, nil, map[string]Model{"count": scripted(func(ctx context.Context, r ModelRequest) (*ModelReply, error) {
		<-asked
		return counts(ctx, r)
	})})
	turns := 0
	a, transcript := parentOf(t, team, scripted(func(ctx context.Context, r ModelRequest) (*ModelReply, error) {
		if turns++; turns == 2 {
			close(asked)
		}
		return parent(ctx, r)
	}), LoopSettings{})
	var notices []string
	if _, err := a.RunTurn(t.Context(), "go", func(e TurnEvent) {
		if e.Kind == NoticeEvent {
			notices = append(notices, string(e.Notice)+" "+e.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "child subagent 1: id 1, finished after") {
		t.Errorf("the notices are %q", notices)
	}
	said := texts(transcript)
	if strings.Count(said, "there are 7") != 1 || strings.Index(said, "there are 7") < strings.Index(said, "settled") {
		t.Errorf("the parent has read %s", said)
	}
}

func TestSpawnStatus(t *testing.T) {
	team := teamOf(t, nil, map[string]Model{"count": says("there are 7")})
	a, transcript := parentOf(t, team, says("spawn_status {}", `spawn {"task":"count"}`, `spawn {"task":"nobody","label":"lost"}`,
		"settle {}", `spawn_status {"wait_seconds":50}`, `spawn_status {"id":"9"}`, "done"), LoopSettings{})
	if _, err := a.RunTurn(t.Context(), "go", nil); err != nil {
		t.Fatal(err)
	}
	said := texts(transcript)
	for _, want := range []string{"there are no subagents", "subagent 1: id 1, finished", "subagent 2 (lost): id 2, failed", "nobody is there",
		`there is no subagent "9"`} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}

func TestChildTimeout(t *testing.T) {
	team := teamOf(t, func(o *TeamOptions) {
		o.Limits = func(*session.Session) TeamLimits {
			return TeamLimits{Depth: 3, Concurrent: 1, Timeout: time.Millisecond, SlotWait: time.Minute}
		}
	}, map[string]Model{"wait": blocked(nil)})
	a, transcript := parentOf(t, team, says(`subagent {"task":"wait"}`, "done"), LoopSettings{})
	if _, err := a.RunTurn(t.Context(), "go", nil); err != nil || !strings.Contains(texts(transcript), "default_timeout_minutes") {
		t.Errorf("%v; the parent has read %s", err, texts(transcript))
	}
}

func TestChildrenEndWithParentTurn(t *testing.T) {
	begun := make(chan struct{}, 1)
	team := teamOf(t, nil, map[string]Model{"wait": blocked(begun)})
	a, transcript := parentOf(t, team, says(`spawn {"task":"wait"}`, "done", "well"), LoopSettings{})
	if _, err := a.RunTurn(t.Context(), "go", nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range team.groups {
		if f.children[0].State != Failed {
			t.Errorf("the child is %+v", f.children[0].ChildStatus)
		}
	}
	if _, err := a.RunTurn(t.Context(), "and?", nil); err != nil || !strings.Contains(texts(transcript), errTurnEnds.Error()) {
		t.Errorf("%v; the parent has read %s", err, texts(transcript))
	}
}

func TestChildrenMayOutliveTurn(t *testing.T) {
	begun, release := make(chan struct{}, 1), make(chan struct{})
	var model scripted = func(context.Context, ModelRequest) (*ModelReply, error) {
		begun <- struct{}{}
		<-release
		return says("late")(nil, ModelRequest{})
	}
	team := teamOf(t, func(o *TeamOptions) { o.Outlive = true }, map[string]Model{"wait": model})
	a, transcript := parentOf(t, team, says(`spawn {"task":"wait"}`, "done", "settle {}", "well"), LoopSettings{})
	if _, err := a.RunTurn(t.Context(), "go", nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	close(release)
	if _, err := a.RunTurn(t.Context(), "and?", nil); err != nil || !strings.Contains(texts(transcript), "late") {
		t.Errorf("%v; the parent has read %s", err, texts(transcript))
	}
}

func TestEndAndCloseEndChildren(t *testing.T) {
	begun := make(chan struct{}, 2)
	team := teamOf(t, func(o *TeamOptions) { o.Outlive = true }, map[string]Model{"wait": blocked(begun)})
	first, second := &session.Session{}, &session.Session{}
	var children []*childAgent
	for _, s := range []*session.Session{first, second} {
		c, err := team.startTask(t.Context(), ChildTask{Parent: s, Text: "wait"}, true)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
		<-begun
	}
	team.EndSession(first)
	if c := children[0]; c.State != Failed || !strings.Contains(c.Text, errParentEnds.Error()) {
		t.Errorf("the child is %+v", c.ChildStatus)
	}
	team.Close()
	if c := children[1]; c.State != Failed || !strings.Contains(c.Text, errTeamEnds.Error()) {
		t.Errorf("the child is %+v", c.ChildStatus)
	}
	if _, err := team.startTask(t.Context(), ChildTask{Parent: first, Text: "wait"}, true); err == nil {
		t.Error("a child has begun after the end")
	}
}

func TestLimitsOfATeam(t *testing.T) {
	deeper := map[string]Model{}
	for i := range 4 {
		deeper[fmt.Sprint("depth ", i)] = says(fmt.Sprintf(`subagent {"task":"depth %d"}`, i+1), fmt.Sprint("end of ", i))
	}
	begun := make(chan struct{}, 5)
	deeper["wait"] = blocked(begun)
	team := teamOf(t, func(o *TeamOptions) {
		o.Limits = func(*session.Session) TeamLimits {
			return TeamLimits{Depth: 3, Concurrent: 2, Timeout: time.Minute, SlotWait: time.Millisecond}
		}
		o.AllowedAgents = func(*session.Session) []string { return []string{"helper"} }
	}, deeper)
	spawn := `spawn {"task":"wait"}`
	for want, answers := range map[string][]string{
		"agents.defaults.subturn.max_concurrent": {spawn, spawn, spawn, "done"},
		`may not delegate to "boss"`:             {`delegate {"agent_id":"boss","task":"wait"}`, "done"},
		"it may to helper":                       {`spawn {"agent_id":"boss","task":"wait"}`, "done"},
		"agent_id is empty":                      {`delegate {"agent_id":"","task":"wait"}`, "done"},
		"agent helper: id 1, failed":             {`spawn {"agent_id":"helper","task":"nobody"}`, "settle {}", "done"},
	} {
		a, transcript := parentOf(t, team, says(answers...), LoopSettings{})
		if _, err := a.RunTurn(t.Context(), "go", nil); err != nil || !strings.Contains(texts(transcript), want) {
			t.Errorf("%v; %q is not in %s", err, want, texts(transcript))
		}
	}
	var deepest string
	team.options.Observe = func(_ ChildStatus, e TurnEvent) {
		if e.Kind == ResultEvent && e.Result.Err != nil {
			deepest = e.Result.Err.Message
		}
	}
	a, _ := parentOf(t, team, says(`subagent {"task":"depth 0"}`, "done"), LoopSettings{})
	if _, err := a.RunTurn(t.Context(), "go", nil); err != nil || !strings.Contains(deepest, "depth of subagents is limited to 3") {
		t.Errorf("%v; %s", err, deepest)
	}
}

// What children use is used by the turn that has begun them, at any depth.
func TestBudgetCountsChildren(t *testing.T) {
	answers := append(slices.Repeat([]string{"spawn_status {}"}, 50), "done") // without a budget it ends, too
	team := teamOf(t, nil, map[string]Model{"burn": says(answers...)})
	a, transcript := parentOf(t, team, says(`subagent {"task":"burn"}`, "done"), LoopSettings{Budget: TurnBudget{Tokens: 100}})
	_, err := a.RunTurn(t.Context(), "go", nil)
	var over *BudgetExceededError
	if !errors.As(err, &over) || !strings.Contains(texts(transcript), tokensSetting) {
		t.Errorf("%v; the parent has read %s", err, texts(transcript))
	}
}
