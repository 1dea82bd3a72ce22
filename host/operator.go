package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/host/session"
)

// Operator executes command-line actions for the console with the current assembly. The zero value has none. It may be
// used concurrently.
type Operator struct{ current atomic.Pointer[Assembly] }

// SetAssembly sets the assembly to use.
func (o *Operator) SetAssembly(a *Assembly) { o.current.Store(a) }

// openSession opens a session of an agent.
func (o *Operator) openSession(agent string) (*session.Session, error) {
	a := o.current.Load()
	if a == nil {
		return nil, errNotReady
	}
	return a.OpenSession(agent, session.Console)
}

// Undo undoes a change of an agent, as `picoclaw undo` does.
func (o *Operator) Undo(ctx context.Context, agent, id string, dry, force bool) (string, error) {
	s, err := o.openSession(agent)
	if err != nil {
		return "", err
	}
	arguments, err := json.Marshal(map[string]any{"id": id, "dry_run": dry, "force": force})
	if err != nil {
		return "", err
	}
	r := s.Call(ctx, "undo", arguments, nil)
	if r.Err != nil {
		return r.Text, errors.New(r.Err.Explained())
	}
	return r.Text, nil
}

// ResultText returns the result of a call for people.
func ResultText(r *session.Result) string {
	text := r.Text
	if text == "" {
		text = string(r.Structured)
	}
	if r.Err != nil {
		text = strings.TrimLeft(text+"\n\n", "\n") + r.Err.Explained()
	}
	return text
}
