package hooks

import (
	"context"
	"fmt"
)

// Turn is what hooks are told of an agent's turn, and how they end it.
type Turn struct {
	Transcript string      // the file with the conversation; empty if there is none
	End        func(error) // ends the turn; with an *EndError
}

// EndError says that a hook has ended a turn, which is no failure.
type EndError struct{ Rule, Reason string }

func (e *EndError) Error() string { return fmt.Sprintf("%s has ended the turn: %s", e.Rule, e.Reason) }

type turnKey struct{}

// WithTurn returns a context for what belongs to a turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// turnOf is the turn that a context belongs to.
func turnOf(ctx context.Context) Turn {
	t, _ := ctx.Value(turnKey{}).(Turn)
	if t.End == nil {
		t.End = func(error) {} // nobody's turn: what was refused is refused, and a client goes on as it likes
	}
	return t
}

// end ends the turn if hooks say so.
func (v Verdict) end(ctx context.Context) {
	if v.Stop {
		turnOf(ctx).End(&EndError{v.Rule, v.Deny})
	}
}
