package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/agent/openai"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkTurns takes turns over HTTP with a model that answers at once, with four calls of a tool that does
// nothing, and makes the same five requests by themselves.
func BenchmarkTurns(b *testing.B) {
	const turnsOfConversation = 5
	server := modeltest.StartServer()
	defer server.Close()
	call := modeltest.ScriptedReply{Calls: []modeltest.ScriptedCall{{ID: "c", Tool: "nothing", Arguments: `{"path":"a"}`}}}
	steps := []modeltest.ScriptedReply{call, call, call, call, {Text: "These are the last words of a turn."}}
	model, err := openai.New(openai.Options{Model: "played", BaseURL: server.URL + "/v1"})
	if err != nil {
		b.Fatal(err)
	}
	settings := agent.DefaultLoopSettings()
	settings.SummarizeMessages = 0
	dir := b.TempDir()
	var a *agent.Agent
	var body string
	turns := 0
	t := measure.RunInTurns(b,
		measure.BenchCase{Name: "turn",
			Prepare: func() error {
				server.AddReplies(steps...)
				turns++
				if turns%turnsOfConversation != 1 {
					return nil
				}
				transcript, err := agent.OpenTranscript(dir, fmt.Sprint(turns))
				b.Cleanup(func() { _ = transcript.Close() })
				a = agent.New(agent.Options{Model: model, Tools: idle{}, System: "You work.", Transcript: transcript,
					Settings: settings})
				return err
			},
			Run: func() error {
				_, err := a.RunTurn(b.Context(), "Do it.", func(agent.TurnEvent) {})
				return err
			}},
		measure.BenchCase{Name: "requests",
			Prepare: func() error {
				server.AddReplies(steps...)
				all := server.Requests()
				body = all[len(all)-1].Body // as large as the turn's
				return nil
			},
			Run: func() error {
				for range steps {
					if err := post(server.URL+"/v1/chat/completions", body); err != nil {
						return err
					}
				}
				return nil
			}})
	b.ReportMetric(t[0].Median()-t[1].Median(), "cost-ms<=5")
}

func post(url, body string) error {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// idle has a tool that does nothing.
type idle struct{}

func (idle) Tools() []session.Tool { return nil }

func (idle) Call(context.Context, string, json.RawMessage, func(session.CallEvent)) *session.Result {
	return &session.Result{Text: "nothing", Answered: true}
}
