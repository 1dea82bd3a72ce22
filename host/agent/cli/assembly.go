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

// ServerName is what the session's server is called to programs.
const ServerName = "picoclaw"

// assembly puts a reply together from what a program tells.
type assembly struct {
	name    string
	request agent.Request
	onText  func(string)

	texts []string
	calls map[string]agent.Call // that have begun, by their ids
	made  int
	usage agent.Usage
	stop  agent.Stop
	said  string // the last error that it has told, if it goes on after it
	done  bool
}

// text adds a whole text.
func (a *assembly) text(text string) {
	if text = strings.TrimSpace(text); text != "" {
		a.texts = append(a.texts, text)
	}
}

// call notes that a call has begun.
func (a *assembly) call(id, tool string, args json.RawMessage) error {
	if _, known := a.calls[id]; known {
		return nil
	}
	a.made++
	if limit := a.request.Left.Calls; limit > 0 && a.made > limit {
		return &agent.BudgetError{Budget: "calls", Setting: "agents.defaults.budget.calls",
			Message: fmt.Sprintf("%s has made the %d calls that were left, and would make another", a.name, limit)}
	}
	c := agent.Call{ID: id, Tool: tool, Arguments: args}
	a.calls[id] = c
	a.request.Observe(agent.Event{Kind: agent.CallEvent, Call: &c})
	return nil
}

// result notes that a call has ended.
func (a *assembly) result(id, text string, failed bool) {
	c, begun := a.calls[id]
	if !begun {
		return
	}
	r := &session.Result{Text: text, Answered: true}
	if failed {
		r = &session.Result{Err: &session.Error{Message: text}}
	}
	a.request.Observe(agent.Event{Kind: agent.ResultEvent, Call: &c, Result: r})
}

// reply is the reply, of a program that has ended well.
func (a *assembly) reply() (*agent.Reply, error) {
	a.usage.Calls = a.made
	if a.stop == "" {
		a.stop = agent.Ended
	}
	text := strings.Join(a.texts, "\n\n")
	return &agent.Reply{Message: agent.Message{Role: agent.Assistant, Text: text}, Usage: a.usage, Stop: a.stop}, nil
}

// wrong is the error of a program that is not as it has to be. It is not asked again.
func (a *assembly) wrong(format string, args ...any) error {
	return fmt.Errorf("%s %s, and was ended", a.name, fmt.Sprintf(format, args...))
}

// foreign is the error of a program that has more than its hands.
func (a *assembly) foreign(what string) error {
	return a.wrong("has %s, which is not picoclaw's; use a version that can do without", what)
}

// statusIn finds a status of HTTP in what programs say of an error.
var statusIn = lazyregexp.New(`(?i)\bstatus:? ([45]\d\d)\b`)

// tooLong is what they say of a conversation that is larger than the model's context window.
var tooLong = lazyregexp.New(`(?i)prompt is too long|context.?(window|length)|too many (input )?tokens`)

// failed is the error of a program that has not answered. What has made calls is not asked again: it would make them
// once more.
func (a *assembly) failed(status int, why string) error {
	why = cmp.Or(strings.TrimSpace(why), a.said, "it does not say why")
	if m := statusIn().FindStringSubmatch(why); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	message := fmt.Sprintf("%s has not answered: %s", a.name, clean(why))
	if a.made > 0 {
		return fmt.Errorf("%s; it had made %d calls, so it is not asked again", message, a.made)
	}
	return &agent.ModelError{Message: message, Status: status, TooLong: tooLong().MatchString(why)}
}

// longestWords is how much of a program's own words an error has.
const longestWords = 2 << 10

// clean is what a program has said, in one line.
func clean(text string) string {
	return stdio.Words(strings.Join(strings.Fields(text), " "), longestWords)
}
