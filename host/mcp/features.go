package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// resourceProvider lists resources and prompts, as *session.Session does. Its Call reads them.
type resourceProvider interface {
	toolProvider
	ResourcesAndPrompts() []session.ResourceOrPrompt
}

var _ resourceProvider = (*session.Session)(nil)

// resourcesAndPromptsOf returns the resources and prompts of a provider; none if it provides only tools.
func resourcesAndPromptsOf(s toolProvider) []session.ResourceOrPrompt {
	if with, ok := s.(resourceProvider); ok {
		return with.ResourcesAndPrompts()
	}
	return nil
}

// refreshResourcesAndPrompts offers the session's current resources and prompts, removes others, and notifies clients
// of changes. The caller holds ts.mu.
func (ts *toolset) refreshResourcesAndPrompts() {
	removed := maps.Clone(ts.features)
	for _, f := range resourcesAndPromptsOf(ts.session) {
		delete(removed, f.Name)
		known, offered := ts.features[f.Name]
		if offered && known.Short == f.Short && reflect.DeepEqual(known.Spec, f.Spec) {
			continue
		}
		if offered {
			ts.removeResourceOrPrompt(known)
		}
		ts.features[f.Name] = f
		ts.addResourceOrPrompt(f)
	}
	for name, f := range removed {
		delete(ts.features, name)
		ts.removeResourceOrPrompt(f)
	}
}

func (ts *toolset) addResourceOrPrompt(f session.ResourceOrPrompt) {
	if f.Kind == pluginpb.PromptKind {
		prompt := &mcp.Prompt{Name: clientPromptName(f), Description: f.Spec.Doc, Arguments: promptArguments(f.Spec)}
		ts.server.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return ts.getPrompt(ctx, f, req)
		})
		return
	}
	read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return ts.readResource(ctx, f, req)
	}
	if isResourceTemplate(f.Spec) {
		ts.server.AddResourceTemplate(&mcp.ResourceTemplate{Name: f.Spec.Name, Description: f.Spec.Doc, URITemplate: f.Spec.URI,
			MIMEType: f.Spec.MediaType}, read)
		return
	}
	ts.server.AddResource(&mcp.Resource{Name: f.Spec.Name, Description: f.Spec.Doc, URI: f.Spec.URI, MIMEType: f.Spec.MediaType}, read)
}

func (ts *toolset) removeResourceOrPrompt(f session.ResourceOrPrompt) {
	switch {
	case f.Kind == pluginpb.PromptKind:
		ts.server.RemovePrompts(clientPromptName(f))
	case isResourceTemplate(f.Spec):
		ts.server.RemoveResourceTemplates(f.Spec.URI)
	default:
		ts.server.RemoveResources(f.Spec.URI)
	}
}

func clientPromptName(f session.ResourceOrPrompt) string { return catalog.ToolNameForClients(f.Short) }

func isResourceTemplate(s *pluginpb.ToolSpec) bool { return strings.Contains(s.URI, "{") }

// promptArguments returns a prompt's arguments, sorted by name.
func promptArguments(s *pluginpb.ToolSpec) (all []*mcp.PromptArgument) {
	input, err := s.Input.Parse()
	if err != nil {
		return nil // the call reports it
	}
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		all = append(all, &mcp.PromptArgument{Name: name, Description: input.Properties[name].Description,
			Required: slices.Contains(input.Required, name)})
	}
	return all
}

// methodOfCall returns the MCP method for the name of a called tool, resource or prompt.
func methodOfCall(name string) string {
	switch kind, _, _ := strings.Cut(name, ":"); kind {
	case pluginpb.ResourceKind:
		return "resources/read"
	case pluginpb.PromptKind:
		return "prompts/get"
	}
	return "tools/call"
}

// callResourceOrPrompt reads a resource or prompt by a call. It returns an error for a failed call.
func (ts *toolset) callResourceOrPrompt(ctx context.Context, f session.ResourceOrPrompt, req *mcp.CallToolRequest) (*callOutcome, error) {
	req.Params.Name = f.Name
	outcome, err := ts.callForClient(ctx, session.Tool{Name: f.Name, Plugin: f.Plugin, Spec: f.Spec}, req)
	if err != nil || outcome.result == nil || outcome.result.Err == nil {
		return outcome, err
	}
	code := int64(jsonrpc.CodeInternalError)
	if e := outcome.result.Err.Code; e == pluginpb.CodeInvalidArgument || e == pluginpb.CodeNotFound {
		code = jsonrpc.CodeInvalidParams
	}
	return nil, &jsonrpc.Error{Code: code, Message: outcome.result.Err.AgentText()}
}

func (ts *toolset) getPrompt(ctx context.Context, f session.ResourceOrPrompt, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	values := req.Params.Arguments
	if values == nil {
		values = map[string]string{}
	}
	arguments, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	outcome, err := ts.callResourceOrPrompt(ctx, f, &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{
		Meta: req.Params.Meta, Arguments: arguments, InputResponses: req.Params.InputResponses, RequestState: req.Params.RequestState}})
	if err != nil {
		return nil, err
	}
	if outcome.questions != nil {
		return &mcp.GetPromptResult{InputRequests: outcome.questions, RequestState: outcome.state}, nil
	}
	result := &mcp.GetPromptResult{Description: f.Spec.Doc, Messages: []*mcp.PromptMessage{}}
	for _, c := range resultContentBlocks(outcome.result) {
		role := mcp.Role("user")
		if c.Role == "assistant" {
			role = "assistant"
		}
		result.Messages = append(result.Messages, &mcp.PromptMessage{Role: role, Content: toContentBlock(c)})
	}
	return result, nil
}

func (ts *toolset) readResource(ctx context.Context, f session.ResourceOrPrompt, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	arguments, ok := f.MatchURI(req.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	outcome, err := ts.callResourceOrPrompt(ctx, f, &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{
		Meta: req.Params.Meta, Arguments: arguments, InputResponses: req.Params.InputResponses, RequestState: req.Params.RequestState}})
	if err != nil {
		return nil, err
	}
	if outcome.questions != nil {
		return &mcp.ReadResourceResult{InputRequests: outcome.questions, RequestState: outcome.state}, nil
	}
	result := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}
	for _, c := range resultContentBlocks(outcome.result) {
		c.URI = cmp.Or(c.URI, req.Params.URI)
		result.Contents = append(result.Contents, &mcp.ResourceContents{URI: c.URI, MIMEType: c.MediaType, Text: c.Text, Blob: c.Data})
	}
	return result, nil
}

func resultContentBlocks(r *session.Result) []session.Content {
	if len(r.Content) == 0 && r.Text != "" {
		return []session.Content{{Text: r.Text}}
	}
	return r.Content
}

// findResource returns the session's resource with a URI, if a policy allows it.
func findResource(p *policy.Policy, s toolProvider, uri string) (session.ResourceOrPrompt, bool) {
	for _, f := range resourcesAndPromptsOf(s) {
		if f.Kind == pluginpb.ResourceKind && allowsResourceOrPrompt(p, f) {
			if _, ok := f.MatchURI(uri); ok {
				return f, true
			}
		}
	}
	return session.ResourceOrPrompt{}, false
}

// notifyResourceChanged notifies subscribers that a resource of the called tool's plugin has changed.
func (ts *toolset) notifyResourceChanged(ctx context.Context, t session.Tool, uri string) {
	if f, ok := findResource(nil, ts.session, uri); ok && f.Plugin == t.Plugin {
		_ = ts.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // it may be dropped
	}
}

// completeArgument answers completion/complete: it completes an argument of a prompt, or a variable of a resource, from
// the values in the schema, if a policy allows it.
func completeArgument(allowed *policy.Policy, s toolProvider, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	for _, f := range resourcesAndPromptsOf(s) {
		named := p.Ref != nil && (f.Kind == pluginpb.PromptKind && clientPromptName(f) == p.Ref.Name ||
			f.Kind == pluginpb.ResourceKind && f.Spec.URI == p.Ref.URI)
		if !named || !allowsResourceOrPrompt(allowed, f) {
			continue
		}
		input, err := f.Spec.Input.Parse()
		if err != nil {
			return nil, err
		}
		argument := input.Properties[p.Argument.Name]
		if argument == nil {
			break
		}
		for _, value := range argument.Enum {
			if text, ok := value.(string); ok && strings.HasPrefix(text, p.Argument.Value) {
				result.Completion.Values = append(result.Completion.Values, text)
			}
		}
		result.Completion.Total = len(result.Completion.Values)
		return result, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such prompt, resource or argument"}
}
