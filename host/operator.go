package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/host/session"
)

// ConsoleActions executes command-line actions for the console in the current runtime. Without a runtime, as in the
// zero value, the actions fail. It is safe for concurrent use.
type ConsoleActions struct{ current atomic.Pointer[Runtime] }

// SetRuntime sets the runtime in which later actions run.
func (o *ConsoleActions) SetRuntime(a *Runtime) { o.current.Store(a) }

// openAgentSession opens a session of an agent in the current runtime.
func (o *ConsoleActions) openAgentSession(agent string) (*session.Session, error) {
	a := o.current.Load()
	if a == nil {
		return nil, errNotReady
	}
	return a.OpenSession(agent, session.Console)
}

// Undo undoes a change of an agent, as `picoclaw undo` does.
func (o *ConsoleActions) Undo(ctx context.Context, agent, id string, dry, force bool) (string, error) {
	s, err := o.openAgentSession(agent)
	if err != nil {
		return "", err
	}
	arguments, err := json.Marshal(map[string]any{"id": id, "dry_run": dry, "force": force})
	if err != nil {
		return "", err
	}
	r := s.Call(ctx, "undo", arguments, nil)
	if r.Err != nil {
		return r.Text, errors.New(r.Err.AgentText())
	}
	return r.Text, nil
}

// ResultText returns the result of a call as text for people.
func ResultText(r *session.Result) string {
	text := cmp.Or(r.Text, string(r.Structured))
	if r.Err != nil {
		text = strings.TrimLeft(text+"\n\n", "\n") + r.Err.AgentText()
	}
	return text
}
