package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/internal/patience"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Question is a call that a person has to allow.
type Question struct {
	Tool     string         // full name
	Args     map[string]any // as they go to the tool
	Decision guard.Decision // why it is asked
}

// Asker puts a question to a person and reports whether the answer was yes. It may take as long as a person takes; when
// the context ends it returns false.
type Asker func(context.Context, Question) bool

// Form is what a tool asks of a person. Its words are the plugin's: whoever shows it says whose.
type Form struct {
	Tool    string          // full name
	Message string          // what it is about
	Schema  json.RawMessage // an object of strings, numbers, booleans and choices
}

// Filled is what a person has done with a form: accepted it with values that fit its schema, declined, or cancelled.
type Filled = sdk.Answer

// Former shows a form to a person, for as long as a person takes. An error says why that was not possible.
type Former func(context.Context, Form) (Filled, error)

type (
	askerKey  struct{}
	formerKey struct{}
)

// WithAsker returns a context whose calls can ask a person. Where nobody can be asked, what needs a yes is refused.
func WithAsker(ctx context.Context, ask Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, ask)
}

// WithFormer returns a context whose calls can have a person fill in forms. Where nobody can, tools are told so.
func WithFormer(ctx context.Context, show Former) context.Context {
	return context.WithValue(ctx, formerKey{}, show)
}

// FormerOf returns what shows forms to the person behind a context, nil if there is nobody.
func FormerOf(ctx context.Context) Former {
	show, _ := ctx.Value(formerKey{}).(Former)
	return show
}

// maxForm is the largest form that is shown to a person, in bytes.
const maxForm = 64 << 10

// answers returns what answers a tool's questions, nil if nobody does. The time of the call, that of ctx, stands still
// while a person thinks.
func answers(ctx context.Context, tool string) func(*pluginpb.Question) *pluginpb.Answer {
	show := FormerOf(ctx)
	if show == nil {
		return nil
	}
	return func(q *pluginpb.Question) *pluginpb.Answer {
		if size := len(q.GetMessage()) + len(q.GetSchema()); size > maxForm {
			return &pluginpb.Answer{Error: fmt.Sprintf("the form is %d bytes long; at most %d can be shown", size, maxForm)}
		}
		defer patience.Pause(ctx)()
		filled, err := show(ctx, Form{Tool: tool, Message: q.GetMessage(), Schema: q.GetSchema()})
		if err != nil {
			return &pluginpb.Answer{Error: err.Error()}
		}
		return &pluginpb.Answer{Action: filled.Action, Content: filled.Values}
	}
}

// asked reports whether there is somebody to ask.
func asked(ctx context.Context) bool {
	ask, ok := ctx.Value(askerKey{}).(Asker)
	return ok && ask != nil
}

// permitted reports whether a decision lets a call go on, if need be after asking.
func permitted(ctx context.Context, q Question) bool {
	if q.Decision.Verdict != guard.Ask {
		return q.Decision.Verdict == guard.Allow
	}
	ask, ok := ctx.Value(askerKey{}).(Asker)
	return ok && ask != nil && ask(ctx, q)
}
