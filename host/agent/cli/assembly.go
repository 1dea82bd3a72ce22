package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/stdio"
)

// ServerName is the name of picoclaw's MCP server for the program.
const ServerName = "picoclaw"

// replyAssembler builds a reply from a program's events.
type replyAssembler struct {
	name    string
	request agent.ModelRequest
	onText  func(string)

	texts     []string
	calls     map[string]agent.ToolCall // running calls by id
	callCount int
	usage     agent.TokenUsage
	stop      agent.StopReason
	lastError string // last reported error, if the program continues
	done      bool
}

// addText adds a complete text.
func (a *replyAssembler) addText(text string) {
	if text = strings.TrimSpace(text); text != "" {
		a.texts = append(a.texts, text)
	}
}

// beginCall records and reports the start of a call. It returns an error if the budget has no calls left.
func (a *replyAssembler) beginCall(id, tool string, args json.RawMessage) error {
	if _, known := a.calls[id]; known {
		return nil
	}
	a.callCount++
	if limit := a.request.Remaining.Calls; limit > 0 && a.callCount > limit {
		return &agent.BudgetExceededError{Budget: "calls", Setting: "agents.defaults.budget.calls",
			Message: fmt.Sprintf("%s used the %d remaining calls and requested another", a.name, limit)}
	}
	c := agent.ToolCall{ID: id, Tool: tool, Arguments: args}
	a.calls[id] = c
	a.request.Observe(agent.TurnEvent{Kind: agent.CallEvent, Call: &c})
	return nil
}

// endCall records the result of a call.
func (a *replyAssembler) endCall(id, text string, failed bool) {
	c, begun := a.calls[id]
	if !begun {
		return
	}
	r := &session.Result{Text: text, Answered: true}
	if failed {
		r = &session.Result{Err: &session.Error{Message: text}}
	}
	a.request.Observe(agent.TurnEvent{Kind: agent.ResultEvent, Call: &c, Result: r})
}

// buildReply returns the reply after the program has succeeded.
func (a *replyAssembler) buildReply() (*agent.ModelReply, error) {
	a.usage.Calls = a.callCount
	a.stop = cmp.Or(a.stop, agent.StopEnded)
	text := strings.Join(a.texts, "\n\n")
	return &agent.ModelReply{Message: agent.Message{Role: agent.Assistant, Text: text}, Usage: a.usage, Stop: a.stop}, nil
}

// protocolError returns the error for unexpected output of the program, which must not be retried.
func (a *replyAssembler) protocolError(format string, args ...any) error {
	return fmt.Errorf("%s %s, and was ended", a.name, fmt.Sprintf(format, args...))
}

// foreignToolError returns the error for a program that has tools besides picoclaw's.
func (a *replyAssembler) foreignToolError(what string) error {
	return a.protocolError("has %s, which is not picoclaw's; use a version that can disable it", what)
}

// statusPattern finds an HTTP status in an error message.
var statusPattern = lazyregexp.New(`(?i)\bstatus:? ([45]\d\d)\b`)

// tooLongPattern matches errors for conversations that exceed the context window.
var tooLongPattern = lazyregexp.New(`(?i)prompt is too long|context.?(window|length)|too many (input )?tokens`)

// failureError returns the error of a program that gave no reply. It is permanent if a retry would repeat calls.
func (a *replyAssembler) failureError(status int, why string) error {
	why = cmp.Or(strings.TrimSpace(why), a.lastError, "it does not say why")
	if m := statusPattern().FindStringSubmatch(why); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	message := fmt.Sprintf("%s has not answered: %s", a.name, shortenToOneLine(why))
	if a.callCount > 0 {
		return fmt.Errorf("%s; it made %d calls, so it is not retried", message, a.callCount)
	}
	return &agent.ModelError{Message: message, Status: status, TooLong: tooLongPattern().MatchString(why)}
}

// maxMessageBytes limits a program's text in an error message.
const maxMessageBytes = 2 << 10

// shortenToOneLine shortens a program's text to one line.
func shortenToOneLine(text string) string {
	return stdio.PrintablePrefix(strings.Join(strings.Fields(text), " "), maxMessageBytes)
}
