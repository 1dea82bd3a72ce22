package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/host/session"
)

// Operator does for the console what a person could do on the command line, with the newest assembly of a process. The
// zero value has none to work with. It may be used concurrently.
type Operator struct{ on atomic.Pointer[Assembly] }

// Work has it work with an assembly from now on.
func (o *Operator) Work(a *Assembly) { o.on.Store(a) }

// session opens one of an agent's.
func (o *Operator) session(agent string) (*session.Session, error) {
	a := o.on.Load()
	if a == nil {
		return nil, errNotReady
	}
	return a.OpenSession(agent, session.Console)
}

// Undo takes a change of an agent's back, as `picoclaw undo` does.
func (o *Operator) Undo(ctx context.Context, agent, id string, dry, force bool) (string, error) {
	s, err := o.session(agent)
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

// Answer is what a call has answered, for people.
func Answer(r *session.Result) string {
	text := r.Text
	if text == "" {
		text = string(r.Structured)
	}
	if r.Err != nil {
		text = strings.TrimLeft(text+"\n\n", "\n") + r.Err.Explained()
	}
	return text
}
