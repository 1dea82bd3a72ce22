package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// The newest protocol asks a person in rounds (multi round-trip requests): the first answer to a call is a question,
// and the client makes the same call again with what the person said. Older clients are asked in between, by
// elicitation.

// answerName is the name of the one question that a call can be answered with.
const answerName = "allow"

// The bounds of questions that wait for their answer.
const (
	questionLife = 10 * time.Minute
	maxQuestions = 256
)

// questions are the calls that a person was asked about. An answer counts once, and for exactly the call that was
// shown: whoever makes another call with it is asked again.
type questions struct {
	mu      sync.Mutex
	waiting map[string]question // by the state that the client has to send back
}

type question struct {
	call  [sha256.Size]byte
	asked time.Time
}

func newQuestions() *questions { return &questions{waiting: make(map[string]question)} }

// digest tells calls apart.
func digest(tool string, arguments json.RawMessage) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.Quote(tool) + string(arguments)))
}

// ask remembers a call and returns the state that stands for it.
func (q *questions) ask(tool string, arguments json.RawMessage) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := ""
	for state, w := range q.waiting {
		if time.Since(w.asked) > questionLife {
			delete(q.waiting, state)
		} else if oldest == "" || w.asked.Before(q.waiting[oldest].asked) {
			oldest = state
		}
	}
	if len(q.waiting) >= maxQuestions {
		delete(q.waiting, oldest)
	}
	state := rand.Text()
	q.waiting[state] = question{call: digest(tool, arguments), asked: time.Now()}
	return state
}

// answered reports whether a call comes with an answer to its own question, and what the answer is.
func (q *questions) answered(tool string, p *mcp.CallToolParamsRaw) (allowed, answered bool) {
	if p.RequestState == "" {
		return false, false
	}
	q.mu.Lock()
	w, ok := q.waiting[p.RequestState]
	delete(q.waiting, p.RequestState)
	q.mu.Unlock()
	result, isAnswer := p.InputResponses[answerName].(*mcp.ElicitResult)
	if !ok || !isAnswer || w.call != digest(tool, p.Arguments) || time.Since(w.asked) > questionLife {
		return false, false
	}
	return yes(result), true
}

// yes reports whether a person allowed the call.
func yes(r *mcp.ElicitResult) bool { return r.Action == "accept" && r.Content[answerName] == true }

// call makes a call. What a person has to allow becomes a question, if the client can ask one.
func (q *questions) call(ctx context.Context, s toolSession, t session.Tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	if versionOf(req) < inRounds {
		if canAsk(req.Session) {
			ctx = session.WithAsker(ctx, func(ctx context.Context, asked session.Question) bool {
				said, err := req.Session.Elicit(ctx, form(asked))
				return err == nil && yes(said)
			})
			ctx = session.WithFormer(ctx, func(ctx context.Context, f session.Form) (session.Filled, error) {
				return fill(ctx, req.Session, f)
			})
		}
		return answer(tell(ctx, s, t, req), t.Spec.TextResult)
	}
	allowed, answered := q.answered(t.Name, req.Params)
	var open *session.Question
	if answered || canAsk(req.Session) {
		ctx = session.WithAsker(ctx, func(_ context.Context, asked session.Question) bool {
			if !answered {
				open = &asked
			}
			return allowed
		})
	}
	result := tell(ctx, s, t, req)
	if open == nil {
		return answer(result, t.Spec.TextResult)
	}
	return &mcp.CallToolResult{
		RequestState:  q.ask(t.Name, req.Params.Arguments),
		InputRequests: mcp.InputRequestMap{answerName: form(*open)},
	}
}

// fill has a person fill in a tool's form. In the newest protocol there is no asking in between, and a call that is
// made again would begin again.
func fill(ctx context.Context, client *mcp.ServerSession, f session.Form) (session.Filled, error) {
	said, err := client.Elicit(ctx, &mcp.ElicitParams{
		Mode: "form", Message: "The tool " + f.Tool + " asks: " + f.Message, RequestedSchema: f.Schema,
	})
	if err != nil {
		return session.Filled{}, err
	}
	out := session.Filled{Action: said.Action}
	if said.Action == "accept" {
		out.Values, err = jsonv2.Marshal(said.Content, jsonv2.Deterministic(true))
	}
	return out, err
}

// canAsk reports whether a client can show a form to a person.
func canAsk(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// form is the question. What the agent wrote is quoted, so that it can't pass for the question's own words.
func form(q session.Question) *mcp.ElicitParams {
	var b strings.Builder
	b.WriteString("The agent wants to call " + q.Tool + ", which needs your yes.\n")
	reason, detail, _ := strings.Cut(q.Decision.Reason, "\n")
	if detail == "" {
		detail = reason
	}
	b.WriteString("Why it is asked: " + detail + " (rule " + q.Decision.Rule + ").\n")
	if arguments, err := jsonv2.Marshal(q.Args, jsonv2.Deterministic(true)); err == nil {
		b.WriteString("The whole call: " + string(arguments) + "\n")
	}
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: hiddentext.Escape(b.String()),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				answerName: map[string]any{"type": "boolean", "title": "Allow this one call", "default": false},
			},
			"required": []string{answerName},
		},
	}
}
