package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/session"
)

func TestBudgets(t *testing.T) {
	call := modeltest.ScriptedReply{Usage: &modeltest.ScriptedUsage{Input: 400, Output: 100}, Calls: []modeltest.ScriptedCall{
		{ID: "1", Tool: "exec", Arguments: `{}`}, {ID: "2", Tool: "exec", Arguments: `{}`}}}
	prices := &agent.TokenPrices{Input: 1000, Output: 10000}
	for name, test := range map[string]struct {
		change func(*agent.LoopSettings)
		want   []string
		calls  int
	}{
		"tokens": {func(s *agent.LoopSettings) { s.Budget.Tokens = 900 },
			[]string{"1000 tokens", "900", "agents.defaults.budget.tokens", "Earlier changes remain"}, 2},
		"money": {func(s *agent.LoopSettings) { s.Budget.CostUSD, s.Prices = 5, prices },
			[]string{"5.6000 USD", "5.0000", "agents.defaults.budget.cost_usd"}, 6},
		"unknown prices": {func(s *agent.LoopSettings) { s.Budget.CostUSD = 5 }, []string{"has no prices", "set them"}, 0},
		"calls":          {func(s *agent.LoopSettings) { s.Budget.Calls = 3 }, []string{"3", "agents.defaults.budget.calls"}, 3},
		"iterations":     {func(s *agent.LoopSettings) { s.MaxIterations = 3 }, []string{"3 requests", "max_tool_iterations"}, 6},
		"time":           {func(s *agent.LoopSettings) { s.Budget.Time = time.Nanosecond }, []string{"1ns", "agents.defaults.budget.minutes"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			chat, _ := model(t, "anthropic", call, call, call, call, call, call, call, call, call, call)
			s, box, seen, transcript := settings(), tools(t, "exec"), &recorder{}, agent.NewTranscript()
			test.change(&s)
			a := agent.New(agent.Options{Model: chat, Tools: box, Settings: s, Transcript: transcript})
			_, err := a.RunTurn(t.Context(), "go", seen.observe)
			var over *agent.BudgetExceededError
			if !errors.As(err, &over) {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
			if len(box.calls) != test.calls || !seen.has("notice budget: "+err.Error()) {
				t.Errorf("%d calls; events:\n%s", len(box.calls), strings.Join(seen.lines, "\n"))
			}
			whole(t, transcript.Messages())
		})
	}
}

// What a provider reports can't bring the sum back below the budget.
func TestBudgetOfTokensDoesNotOverflow(t *testing.T) {
	const most = math.MaxInt64
	for name, u := range map[string]modeltest.ScriptedUsage{
		"read and written": {Input: most, Output: most}, "all": {Input: most, Output: most, Cached: most},
		"negative": {Input: -most, Output: most}, "cached": {Output: 1, Cached: most},
	} {
		for _, family := range []string{"anthropic", "openai"} {
			step := modeltest.ScriptedReply{Usage: &u, Calls: []modeltest.ScriptedCall{{ID: "1", Tool: "exec", Arguments: `{}`}}}
			chat, _ := model(t, family, step, step, step)
			s := settings()
			s.Budget.Tokens = 900
			a := agent.New(agent.Options{Model: chat, Tools: tools(t, "exec"), Settings: s, Transcript: agent.NewTranscript()})
			out, err := a.RunTurn(t.Context(), "go", nil)
			var over *agent.BudgetExceededError
			if !errors.As(err, &over) || over.Budget != "tokens" || out.Usage.TotalTokens() != most {
				t.Errorf("%s, %s: %v, %+v", name, family, err, out)
			}
		}
	}
}

func TestCountOfTokens(t *testing.T) {
	for text, want := range map[string]agent.TokenCount{
		"12": 12, "0": 0, "-3": 0, "1.9": 1, "-0.5": 0, "1e3": 1000, `"77"`: 77, "null": 5,
		"9223372036854775807": math.MaxInt64, "9223372036854775808": math.MaxInt64, "18446744073709551614": math.MaxInt64,
		"1e400": math.MaxInt64, "-1e400": 0, `"99999999999999999999"`: math.MaxInt64, `"NaN"`: 0, "-9223372036854775809": 0,
	} {
		got := agent.TokenCount(5)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %d, want %d (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{`"many"`, "[]", "{}", "true"} {
		if err := json.Unmarshal([]byte(text), new(agent.TokenCount)); err == nil {
			t.Errorf("%s is a count", text)
		}
	}
}

// whole checks that each call has its result, right behind.
func whole(t *testing.T, messages []agent.Message) {
	t.Helper()
	for i := 0; i < len(messages); i++ {
		if messages[i].Role == agent.ToolResult {
			t.Fatalf("message %d is the result of no call: %+v", i, messages)
		}
		for _, c := range messages[i].Calls {
			if i++; i >= len(messages) || messages[i].CallID != c.ID {
				t.Fatalf("call %s has no result: %+v", c.ID, messages)
			}
		}
	}
}

func TestMissingUsageIsEstimated(t *testing.T) {
	chat, _ := model(t, "openai", modeltest.ScriptedReply{Text: strings.Repeat("word ", 100)})
	a := agent.New(agent.Options{Model: chat, Tools: tools(t), System: strings.Repeat("x", 400), Settings: settings()})
	out, err := a.RunTurn(t.Context(), "go", nil)
	if err != nil || !out.Usage.Estimated || out.Usage.Input < 100 || out.Usage.Output < 100 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestOldTurnsAreSummarised(t *testing.T) {
	s := settings()
	s.SummarizeMessages = 4
	chat, server := model(t, "openai", modeltest.ScriptedReply{Text: "one"}, modeltest.ScriptedReply{Text: "two"}, modeltest.ScriptedReply{Text: "three"},
		modeltest.ScriptedReply{Text: "they counted"}, modeltest.ScriptedReply{Text: "four"})
	seen := &recorder{}
	dir := t.TempDir()
	transcript := open(t, dir, "cli:default")
	a := agent.New(agent.Options{Model: chat, Tools: tools(t, "exec"), Settings: s, Transcript: transcript})
	for _, text := range []string{"a", "b", "c", "d"} {
		if _, err := a.RunTurn(t.Context(), text, seen.observe); err != nil {
			t.Fatal(err)
		}
	}
	if !seen.has("notice context: 4 older messages, about ") || !seen.has("were summarised") {
		t.Errorf("the events are %s", strings.Join(seen.lines, "\n"))
	}
	summary := server.Requests()[3].Body
	if strings.Contains(summary, `"tools"`) || !strings.Contains(summary, "[assistant] two") {
		t.Errorf("the summary is asked for by %s", summary)
	}
	last := server.Requests()[4].Body
	if strings.Contains(last, `"one"`) || !strings.Contains(last, "they counted") || !strings.Contains(last, `"three"`) {
		t.Errorf("the last request is %s", last)
	}
	before := transcript.Messages()
	if err := transcript.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, "cli:default")
	if diff := cmp.Diff(before, again.Messages()); diff != "" || len(again.Repairs()) > 0 {
		t.Errorf("what is read again differs: %s", diff)
	}
}

// A turn that outgrows the model's context window is cut between its requests, and keeps what it is about.
func TestLongTurnIsCut(t *testing.T) {
	for name, summary := range map[string]modeltest.ScriptedReply{
		"summarised": {Text: "it read a lot"},
		"left out":   {Status: 400, Text: "no summaries here"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings()
			s.ContextWindow = 2000
			var steps []modeltest.ScriptedReply
			for i := range 3 {
				steps = append(steps, modeltest.ScriptedReply{Calls: []modeltest.ScriptedCall{{ID: fmt.Sprint("c", i), Tool: "read", Arguments: `{}`}}})
			}
			chat, server := model(t, "anthropic", append(steps, summary, modeltest.ScriptedReply{Text: "done"})...)
			box, seen, transcript := tools(t, "read"), &recorder{}, agent.NewTranscript()
			box.answer = func(context.Context, string, string) *session.Result {
				return &session.Result{Text: strings.Repeat("data ", 500)}
			}
			a := agent.New(agent.Options{Model: chat, Tools: box, Settings: s, Transcript: transcript})
			if _, err := a.RunTurn(t.Context(), "read all of it", seen.observe); err != nil {
				t.Fatal(err)
			}
			if !seen.has("notice context") || !seen.has("were "+name) {
				t.Errorf("the events are %s", strings.Join(seen.lines, "\n"))
			}
			kept := transcript.Messages()
			whole(t, kept)
			if !strings.Contains(kept[0].Text, "read all of it") || len(kept) != 4 {
				t.Errorf("what is kept is %+v", kept)
			}
			if n := len(server.Requests()); n != 5 {
				t.Errorf("it has asked %d times", n)
			}
		})
	}
}

func TestTooLongConversationIsCut(t *testing.T) {
	chat, _ := model(t, "openai", modeltest.ScriptedReply{Text: "one"}, modeltest.ScriptedReply{Status: 400, Text: "context_length_exceeded"},
		modeltest.ScriptedReply{Text: "a summary"}, modeltest.ScriptedReply{Text: "two"}, modeltest.ScriptedReply{Status: 400, Text: "prompt is too long"})
	a := agent.New(agent.Options{Model: chat, Tools: tools(t), Settings: settings()})
	for _, want := range []string{"one", "two"} {
		out, err := a.RunTurn(t.Context(), strings.Repeat("long ", 100), nil)
		if err != nil || out.Text != want {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
