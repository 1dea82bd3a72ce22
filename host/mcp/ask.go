package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// The newest protocol asks users in rounds: the response to a call is a question, and the client repeats the call
// with the answer. Older clients are asked by elicitation during the call.

// allowField is the name of the approval question and of its form field.
const allowField = "allow"

// Limits of pending approval questions.
const (
	questionTimeout = 10 * time.Minute
	maxQuestions    = 256
)

// approvalQuestions holds the calls whose approval is pending. An answer counts once, and only for exactly the call
// that was shown.
type approvalQuestions struct {
	mu      sync.Mutex
	pending map[string]pendingQuestion // by request state, which the client sends back
}

// pendingQuestion is a call that a user was asked about.
type pendingQuestion struct {
	call  [sha256.Size]byte
	asked time.Time
}

// newApprovalQuestions returns an empty set of questions.
func newApprovalQuestions() *approvalQuestions {
	return &approvalQuestions{pending: make(map[string]pendingQuestion)}
}

// hashCall hashes a call to compare calls.
func hashCall(tool string, arguments json.RawMessage) [sha256.Size]byte {
	h := sha256.New()
	_, _ = io.WriteString(h, strconv.Quote(tool)) // a hash takes every byte
	_, _ = h.Write(arguments)
	return [sha256.Size]byte(h.Sum(nil))
}

// addQuestion stores a call and returns its request state.
func (q *approvalQuestions) addQuestion(tool string, arguments json.RawMessage) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := ""
	for state, w := range q.pending {
		if time.Since(w.asked) > questionTimeout {
			delete(q.pending, state)
		} else if oldest == "" || w.asked.Before(q.pending[oldest].asked) {
			oldest = state
		}
	}
	if len(q.pending) >= maxQuestions {
		delete(q.pending, oldest)
	}
	state := rand.Text()
	q.pending[state] = pendingQuestion{call: hashCall(tool, arguments), asked: time.Now()}
	return state
}

// takeAnswer reports whether a call carries an answer to its own question, and whether the user allowed it.
func (q *approvalQuestions) takeAnswer(tool string, p *mcp.CallToolParamsRaw) (allowed, answered bool) {
	if p.RequestState == "" {
		return false, false
	}
	q.mu.Lock()
	w, ok := q.pending[p.RequestState]
	delete(q.pending, p.RequestState)
	q.mu.Unlock()
	result, isAnswer := p.InputResponses[allowField].(*mcp.ElicitResult)
	if !ok || !isAnswer || w.call != hashCall(tool, p.Arguments) || time.Since(w.asked) > questionTimeout {
		return false, false
	}
	return isAllowed(result), true
}

// isAllowed reports whether the user allowed the call.
func isAllowed(r *mcp.ElicitResult) bool {
	return r.Action == "accept" && r.Content[allowField] == true
}

// callTool makes a call. If the policy requires approval, it asks the user by elicitation, or responds with a
// question.
func (q *approvalQuestions) callTool(ctx context.Context, s toolSession, t session.Tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	if callVersion(req) < statelessSince {
		if supportsForms(req.Session) {
			ctx = session.WithAsker(ctx, func(ctx context.Context, asked session.ApprovalQuestion) bool {
				elicited, err := req.Session.Elicit(ctx, approvalForm(asked))
				return err == nil && isAllowed(elicited)
			})
			ctx = session.WithElicitor(ctx, func(ctx context.Context, f session.ElicitationForm) (session.FormAnswer, error) {
				return fillForm(ctx, req.Session, f)
			})
		}
		arguments := req.Params.Arguments
		req.Params.Arguments = nil // the SDK holds the request until the call's end
		return toolResult(callWithEvents(ctx, s, t, req, arguments), t.Spec.TextResult)
	}
	allowed, answered := q.takeAnswer(t.Name, req.Params)
	var openQuestion *session.ApprovalQuestion
	if answered || supportsForms(req.Session) {
		ctx = session.WithAsker(ctx, func(_ context.Context, asked session.ApprovalQuestion) bool {
			if !answered {
				openQuestion = &asked
			}
			return allowed
		})
	}
	result := callWithEvents(ctx, s, t, req, req.Params.Arguments)
	if openQuestion == nil {
		return toolResult(result, t.Spec.TextResult)
	}
	return &mcp.CallToolResult{
		RequestState:  q.addQuestion(t.Name, req.Params.Arguments),
		InputRequests: mcp.InputRequestMap{allowField: approvalForm(*openQuestion)},
	}
}

// fillForm has the user fill in a tool's form by elicitation. In stateless versions this is not possible, because a
// repeated call would start over.
func fillForm(ctx context.Context, client *mcp.ServerSession, f session.ElicitationForm) (session.FormAnswer, error) {
	elicited, err := client.Elicit(ctx, &mcp.ElicitParams{
		Mode: "form", Message: "The tool " + f.Tool + " asks: " + f.Message, RequestedSchema: f.Schema,
	})
	if err != nil {
		return session.FormAnswer{}, err
	}
	out := session.FormAnswer{Action: elicited.Action}
	if elicited.Action == "accept" {
		out.Values, err = jsonv2.Marshal(elicited.Content, jsonv2.Deterministic(true))
	}
	return out, err
}

// supportsForms reports whether a client can show a form to the user.
func supportsForms(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// approvalForm returns the form for an approval question. It escapes the agent's text, which could otherwise look
// like a part of the question.
func approvalForm(q session.ApprovalQuestion) *mcp.ElicitParams {
	var b strings.Builder
	b.WriteString("The agent wants to call " + q.Tool + ", which needs your approval.\n")
	reason, detail, _ := strings.Cut(q.Decision.Reason, "\n")
	if detail == "" {
		detail = reason
	}
	b.WriteString("Reason: " + detail + " (rule " + q.Decision.Rule + ").\n")
	if arguments, err := jsonv2.Marshal(q.Args, jsonv2.Deterministic(true)); err == nil {
		b.WriteString("The whole call: " + string(arguments) + "\n")
	}
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: hiddentext.Escape(b.String()),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				allowField: map[string]any{"type": "boolean", "title": "Allow this one call", "default": false},
			},
			"required": []string{allowField},
		},
	}
}
