package host

import (
	"context"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Question is a call that a person has to allow.
type Question struct {
	Tool     string         // full name
	Args     map[string]any // as they go to the tool
	Decision guard.Decision // why it is asked
}

// Asker puts a question to a person and says whether the answer was yes. It may take as long as a person takes; when
// the context ends it returns false.
type Asker func(context.Context, Question) bool

type askerKey struct{}

// WithAsker returns a context whose calls can ask a person. Where nobody can be asked, what needs a yes is refused.
func WithAsker(ctx context.Context, ask Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, ask)
}

// asked says whether there is somebody to ask.
func asked(ctx context.Context) bool {
	ask, ok := ctx.Value(askerKey{}).(Asker)
	return ok && ask != nil
}

// permitted says whether a decision lets a call go on, if need be after asking.
func permitted(ctx context.Context, q Question) bool {
	if q.Decision.Verdict != guard.Ask {
		return q.Decision.Verdict == guard.Allow
	}
	ask, ok := ctx.Value(askerKey{}).(Asker)
	return ok && ask != nil && ask(ctx, q)
}
