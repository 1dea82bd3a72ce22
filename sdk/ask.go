package sdk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Answer is what a person has said to a question; see [Request.Ask].
type Answer struct {
	Action string          // "accept", "decline", or "cancel" where the form was only closed
	Values json.RawMessage // with accept, what the person filled in, a JSON object that fits the form
}

// Ask puts a form to the person behind the call and waits for the answer, for as long as a person takes: the call's
// time stands still. The form is an object whose properties are strings, numbers, booleans or choices (enum), perhaps
// with defaults; jsonschema.For makes one of a struct. Questions of one call are put one after another. Where there
// is nobody to ask the error is an [Error] with the code [NobodyToAsk]. Never ask for a secret: whoever shows the
// form may keep it.
func (r *Request[In]) Ask(ctx context.Context, message string, form *jsonschema.Schema) (Answer, error) {
	if r.call.Ask == nil {
		return Answer{}, nobody("whoever has called this tool can't put a question to a person")
	}
	schema, err := json.Marshal(form)
	if err != nil {
		return Answer{}, fmt.Errorf("the form can't be sent: %w", err)
	}
	answer, err := r.call.Ask(ctx, valid(message), schema)
	if err != nil {
		return Answer{}, fmt.Errorf("wait for a person's answer: %w", err)
	}
	if answer.GetAction() == "" {
		return Answer{}, nobody(answer.GetError())
	}
	return Answer{Action: answer.GetAction(), Values: answer.GetContent()}, nil
}

func nobody(why string) *Error {
	return Errorf(NobodyToAsk, "nobody can be asked: %s", why).
		WithHint("call the tool from an MCP client that has elicitation, or tell it what it would have asked for")
}
