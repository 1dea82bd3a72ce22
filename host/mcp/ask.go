package mcp

import (
	"context"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// allowField is the name of the approval question and of its form field. A tool's form is named formName, or by its
// schema's title.
const (
	allowField = "allow"
	formName   = "answer"
)

// elicitFunc shows a form to the client's user. The name identifies the question among those of one call.
type elicitFunc func(ctx context.Context, name string, form *mcp.ElicitParams) (*mcp.ElicitResult, error)

// withElicitation returns a context whose calls ask the client's user for approvals and show the forms of tools.
func withElicitation(ctx context.Context, elicit elicitFunc) context.Context {
	ctx = session.WithAsker(ctx, func(ctx context.Context, asked session.ApprovalQuestion) bool {
		result, err := elicit(ctx, allowField, approvalForm(asked))
		return err == nil && isAllowed(result)
	})
	return session.WithElicitor(ctx, func(ctx context.Context, f session.ElicitationForm) (session.FormAnswer, error) {
		result, err := elicit(ctx, nameForm(f), &mcp.ElicitParams{
			Mode: "form", Message: "The tool " + f.Tool + " asks: " + f.Message, RequestedSchema: f.Schema,
		})
		if err != nil {
			return session.FormAnswer{}, err
		}
		out := session.FormAnswer{Action: result.Action}
		if result.Action == "accept" {
			out.Values, err = jsonv2.Marshal(result.Content, jsonv2.Deterministic(true))
		}
		return out, err
	})
}

// nameForm returns the name of a tool's form: its title if that is an identifier.
func nameForm(f session.ElicitationForm) string {
	var schema struct {
		Title string `json:"title"`
	}
	if err := jsonv2.Unmarshal(f.Schema, &schema); err != nil || schema.Title == allowField || !identifier().MatchString(schema.Title) {
		return formName
	}
	return schema.Title
}

// identifier matches titles that can be names.
var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// completeForm checks the values of a form that a user accepted, and adds default values, as the SDK does for
// elicitation during a call.
func completeForm(form *mcp.ElicitParams, result *mcp.ElicitResult) error {
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

// isAllowed reports whether the user allowed the call.
func isAllowed(r *mcp.ElicitResult) bool {
	return r.Action == "accept" && r.Content[allowField] == true
}

// supportsForms reports whether a call's client can show a form to the user.
func supportsForms(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities() // stateless versions have them in each request
	if c == nil || c.Elicitation == nil {
		return false
	}
	return c.Elicitation.Form != nil || c.Elicitation.URL == nil
}

// approvalForm returns the form for an approval question. It escapes the agent's text, which could otherwise look
// like a part of the question.
func approvalForm(q session.ApprovalQuestion) *mcp.ElicitParams {
	var b strings.Builder
	b.WriteString("The agent wants to call " + q.Tool + ", which needs your approval.\n")
	reason, detail, _ := strings.Cut(q.Decision.Reason, "\n")
	if detail == "" {
		detail = reason
	}
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
