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

// Undo undoes a change of an agent, as `picoclaw undo` does.
func (o *ConsoleActions) Undo(ctx context.Context, agent, id string, dry, force bool) (string, error) {
	a := o.current.Load()
	if a == nil {
		return "", errNotReady
	}
	s, err := a.OpenSession(agent, session.Console)
	if err != nil {
		return "", err
	}
	return callTool(ctx, s, "undo", map[string]any{"id": id, "dry_run": dry, "force": force})
}

// callTool calls a tool, and returns its text.
func callTool(ctx context.Context, s *session.Session, tool string, args map[string]any) (string, error) {
	arguments, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	r := s.Call(ctx, tool, arguments, nil)
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
