package sdk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Answer is a person's answer to a form, or a client's to another [Question].
type Answer struct {
	Action string          // "accept", "decline", or "cancel" if the form was closed
	Values json.RawMessage // with accept: the completed form as a JSON object, or the client's result
}

// Question is a form for a person, unless Sampling or Roots is set.
type Question struct {
	Name    string // identifies the question for the client; optional
	Message string
	Form    *jsonschema.Schema
	// Sampling are the parameters of MCP's sampling/createMessage, a request to the client's model. The operator allows
	// it with tools.sampling.
	Sampling any
	// Roots asks for the client's directories, as MCP's roots/list does. The operator allows it with tools.sampling.
	Roots bool
}

// Ask shows a form to the person behind the call and waits for the answer; the call's timeout is paused. The form is an
// object of strings, numbers, booleans or choices (enum), optionally with defaults; jsonschema.For makes one of a
// struct. Forms of one call are shown one after another. Without a person the error has the code [NobodyToAsk]. Never
// ask for a secret: clients may store the answer.
func (r *Request[In]) Ask(ctx context.Context, message string, form *jsonschema.Schema) (Answer, error) {
	answers, err := r.AskAll(ctx, Question{Message: message, Form: form})
	if err != nil {
		return Answer{}, err
	}
	return answers[0], nil
}

// AskAll is [Request.Ask] for several questions at once. The answers have the order of the questions.
func (r *Request[In]) AskAll(ctx context.Context, first Question, more ...Question) ([]Answer, error) {
	if r.call.Ask == nil {
		return nil, newNobodyToAskError("the caller of this tool can't ask a person")
	}
	question, err := first.toWire()
	if err != nil {
		return nil, err
	}
	for _, q := range more {
		also, wireErr := q.toWire()
		if wireErr != nil {
			return nil, wireErr
		}
		question.Also = append(question.Also, also)
	}
	answer, err := r.call.Ask(ctx, question)
	if err != nil {
		return nil, fmt.Errorf("wait for a person's answer: %w", err)
	}
	all := append([]*pluginpb.Answer{answer}, answer.GetAlso()...)
	if len(all) != len(more)+1 {
		return nil, newNobodyToAskError("this picoclaw answers only single questions")
	}
	answers := make([]Answer, len(all))
	for i, a := range all {
		if a.GetAction() == "" {
			return nil, newNobodyToAskError(a.GetError())
		}
		answers[i] = Answer{Action: a.GetAction(), Values: a.GetContent()}
	}
	return answers, nil
}

func (q Question) toWire() (*pluginpb.Question, error) {
	out := &pluginpb.Question{Message: toValidUTF8(q.Message), Name: toValidUTF8(q.Name)}
	var err error
	switch {
	case q.Roots:
		out.Kind = pluginpb.RootsQuestion
	case q.Sampling != nil:
		out.Kind = pluginpb.SamplingQuestion
		out.Params, err = json.Marshal(q.Sampling)
	default:
		out.Schema, err = json.Marshal(q.Form)
	}
	if err != nil {
		return nil, fmt.Errorf("the question can't be sent: %w", err)
	}
	return out, nil
}

func newNobodyToAskError(why string) *Error {
	return Errorf(NobodyToAsk, "no person can be asked: %s", why).
		WithHint("call the tool from an MCP client that has elicitation, or pass the answer as an argument")
}
