package mcp

import (
	"cmp"
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// allowField is the name of the approval question and of its form field. A tool's form is named formName, or by its
// schema's title.
const (
	allowField = "allow"
	formName   = "answer"
)

// askFunc sends questions to a call's client and returns the responses. The map keys identify the questions.
type askFunc func(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error)

// withClientQuestions returns a context whose calls send their questions to the client through ask: approvals and forms
// for its user, and other questions for the client itself. missing receives the capabilities that a question needs and
// the client lacks.
func withClientQuestions(ctx context.Context, req *mcp.CallToolRequest, ask askFunc, missing *[]string) context.Context {
	if clientSupportsForms(req) {
		ctx = session.WithApprovalAsker(ctx, func(ctx context.Context, asked session.ApprovalQuestion) bool {
			responses, err := ask(ctx, mcp.InputRequestMap{allowField: newApprovalForm(asked)})
			result, ok := responses[allowField].(*mcp.ElicitResult)
			return err == nil && ok && result.Action == "accept" && result.Content[allowField] == true
		})
	}
	return session.WithElicitor(ctx, func(ctx context.Context, forms []session.ElicitationForm) ([]session.FormAnswer, error) {
		requests, names := mcp.InputRequestMap{}, make([]string, len(forms))
		for i, f := range forms {
			names[i] = questionName(f)
			if _, twice := requests[names[i]]; twice {
				names[i] += strconv.Itoa(i)
			}
			request, err := toInputRequest(f)
			if err != nil {
				return nil, err
			}
			requests[names[i]] = request
		}
		if *missing = missingCapabilities(req, requests); *missing != nil {
			return nil, errMissingCapability
		}
		responses, err := ask(ctx, requests)
		if err != nil {
			return nil, err
		}
		answers := make([]session.FormAnswer, len(forms))
		for i, name := range names {
			if answers[i], err = toFormAnswer(responses[name]); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

func toInputRequest(f session.ElicitationForm) (mcp.InputRequest, error) {
	switch f.Kind {
	case pluginpb.RootsQuestion:
		return &mcp.ListRootsParams{}, nil
	case pluginpb.SamplingQuestion:
		p := new(mcp.CreateMessageParams)
		if err := jsonv1.Unmarshal(f.Params, p); err != nil {
			return nil, fmt.Errorf("the request to the client's model is invalid: %w", err)
		}
		return p, nil
	case "":
		return &mcp.ElicitParams{
			Mode: "form", Message: "The tool " + f.Tool + " asks: " + f.Message, RequestedSchema: f.Schema,
		}, nil
	}
	return nil, fmt.Errorf("there is no question of kind %q", f.Kind)
}

// toFormAnswer converts a client's response to the answer that the tool gets.
func toFormAnswer(response mcp.InputResponse) (out session.FormAnswer, err error) {
	result, ok := response.(*mcp.ElicitResult)
	if !ok {
		out.Action = "accept"
		out.Values, err = jsonv1.Marshal(response)
		return out, err
	}
	out.Action = result.Action
	if result.Action == "accept" {
		out.Values, err = jsonv2.Marshal(result.Content, jsonv2.Deterministic(true))
	}
	return out, err
}

// errMissingCapability is the error that a tool gets for a question that the client does not support.
var errMissingCapability = errors.New("the client has not declared the capability that this question needs")

// missingCapabilities returns the capabilities that questions need and the client lacks.
func missingCapabilities(req *mcp.CallToolRequest, requests mcp.InputRequestMap) (missing []string) {
	has := cmp.Or(req.ClientCapabilities(), &mcp.ClientCapabilities{})
	for _, request := range requests {
		name, ok := "elicitation", clientSupportsForms(req)
		switch request.(type) {
		case *mcp.CreateMessageParams:
			name, ok = "sampling", has.Sampling != nil
		case *mcp.ListRootsParams:
			name, ok = "roots", has.RootsV2 != nil
		}
		if !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// newSessionAsker returns a function that sends questions to the client during the call, in its MCP session.
func newSessionAsker(s *mcp.ServerSession) askFunc {
	return func(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
		responses := mcp.InputResponseMap{}
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			var err error
			switch request := requests[name].(type) {
			case *mcp.ElicitParams:
				responses[name], err = s.Elicit(ctx, request)
			case *mcp.CreateMessageParams:
				responses[name], err = s.CreateMessage(ctx, request)
			case *mcp.ListRootsParams:
				responses[name], err = s.ListRoots(ctx, request)
			}
			if err != nil {
				return nil, err
			}
		}
		return responses, nil
	}
}

// questionName returns the name of a tool's question: the tool's choice, or a form's title if that is an identifier.
func questionName(f session.ElicitationForm) string {
	var schema struct {
		Title string `json:"title"`
	}
	_ = jsonv2.Unmarshal(f.Schema, &schema) // other questions have no schema
	for _, name := range []string{f.Name, schema.Title} {
		if name != allowField && identifier().MatchString(name) {
			return name
		}
	}
	return formName
}

// identifier matches the form titles that can be names of questions.
var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// checkAndCompleteForm checks the values of a form that a user accepted, and adds default values. The SDK does the same
// for elicitation during a call.
func checkAndCompleteForm(form *mcp.ElicitParams, result *mcp.ElicitResult) error {
	if result.Action != "accept" || result.Content == nil {
		return nil
	}
	text, err := jsonv2.Marshal(form.RequestedSchema)
	if err != nil {
		return err
	}
	var schema jsonschema.Schema
	if err = schema.UnmarshalJSON(text); err != nil {
		return err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return err
	}
	if err := resolved.Validate(result.Content); err != nil {
		return fmt.Errorf("elicitation result content does not match requested schema: %w", err)
	}
	return resolved.ApplyDefaults(&result.Content)
}

// clientSupportsForms reports whether a call's client can show a form to the user.
func clientSupportsForms(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities() // stateless versions have them in each request
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// newApprovalForm returns the form for an approval question. It escapes the agent's text, so that the text can't look
// like a part of the question.
func newApprovalForm(q session.ApprovalQuestion) *mcp.ElicitParams {
	var b strings.Builder
	b.WriteString("The agent wants to call " + q.Tool + ", which needs your approval.\n")
	reason, detail, _ := strings.Cut(q.Decision.Reason, "\n")
	detail = cmp.Or(detail, reason)
	b.WriteString("Reason: " + detail + " (rule " + q.Decision.Rule + ").\n")
	if arguments, err := jsonv2.Marshal(q.Args, jsonv2.Deterministic(true)); err == nil {
		b.WriteString("The whole call: " + string(arguments) + "\n")
	}
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: hiddentext.Escape(b.String()),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				allowField: map[string]any{"type": "boolean", "title": "Allow this one call", "default": false},
			},
			"required": []string{allowField},
		},
	}
}
