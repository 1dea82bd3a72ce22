package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/agent/openai"
	"github.com/picoclaw/picoclaw/host/session"
)

// measureTurns measures what the loop between a model and tools costs beside both: turns over HTTP with a model that
// answers at once, with calls of tools that take no time, beside as many requests that are nothing but read.
func measureTurns(string) error {
	dir, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		return err
	}
	return errors.Join(compareTurns(dir), os.RemoveAll(dir))
}

// requestsOfTurn is how often a turn asks its model: four calls and the last words.
const requestsOfTurn = 5

// turnsOfSession is how many turns a conversation has: some fifty messages.
const turnsOfSession = 5

func compareTurns(dir string) error {
	server := modeltest.Start()
	defer server.Close()
	call := modeltest.Step{Calls: []modeltest.Call{{ID: "c", Tool: "nothing", Arguments: `{"path":"a"}`}}}
	last := modeltest.Step{Text: "These are the last words of a turn."}
	model, err := openai.New(openai.Options{Model: "played", BaseURL: server.URL + "/v1"})
	if err != nil {
		return err
	}
	settings := agent.Defaults()
	settings.SummarizeMessages = 0 // no turn is to have a summary to make
	var turns, requests sample
	var a *agent.Agent
	for i := range 101 {
		if i%turnsOfSession == 0 {
			transcript, err := agent.OpenTranscript(dir, fmt.Sprint(i))
			if err != nil {
				return err
			}
			defer func() { _ = transcript.Close() }()
			a = agent.New(agent.Options{Model: model, Tools: idle{}, System: "You work.", Transcript: transcript, Settings: settings})
		}
		server.Add(call, call, call, call, last)
		if err := turns.timed(func() error {
			_, err := a.Turn(context.Background(), "Do it.", func(agent.Event) {})
			return err
		}); err != nil {
			return err
		}
		server.Add(call, call, call, call, last)
		all := server.Requests()
		body := all[len(all)-1].Body // as large as the turn's
		if err := requests.timed(func() error {
			for range requestsOfTurn {
				if err := post(server.URL+"/v1/chat/completions", body); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	fmt.Println("a turn of an agent with four calls, beside its five requests to the model alone")
	fmt.Printf("  %-32s %v and %v: %+.2f ms (at most +5 ms)\n", "turn", turns.p50(), requests.p50(),
		ms(turns.p50()-requests.p50()))
	return nil
}

func post(url, body string) error {
	response, err := http.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// idle is a tool that does nothing.
type idle struct{}

func (idle) Tools() []session.Tool { return nil }

func (idle) Call(context.Context, string, json.RawMessage, func(session.Event)) *session.Result {
	return &session.Result{Text: "nothing", Answered: true}
}
