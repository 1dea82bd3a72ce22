package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// newToolDefinition returns the MCP definition of a tool, without schemas.
func newToolDefinition(t session.Tool) *mcp.Tool {
	return &mcp.Tool{
		Name:        clientToolName(t),
		Description: t.Spec.Doc,
		InputSchema: &jsonschema.Schema{Type: "object"}, // replaced by listTools
		Annotations: toolAnnotations(t.Spec),
	}
}

// toolAnnotations returns the MCP annotations for a tool's declared hints. It omits undeclared hints, so that MCP's
// pessimistic defaults apply. A low or medium risk implies a tool that is neither destructive nor open-world.
func toolAnnotations(s *pluginpb.ToolSpec) *mcp.ToolAnnotations {
	lowRisk := s.Risk == "low" || s.Risk == "medium"
	h := &mcp.ToolAnnotations{ReadOnlyHint: s.ReadOnly, IdempotentHint: s.Idempotent}
	if s.Destructive || s.ReadOnly || lowRisk {
		h.DestructiveHint = &s.Destructive
	}
	if s.OpenWorld || lowRisk {
		h.OpenWorldHint = &s.OpenWorld
	}
	if *h == (mcp.ToolAnnotations{}) {
		return nil
	}
	return h
}

func clientToolName(t session.Tool) string { return catalog.ToolNameForClients(t.Name) }

// toolset is the set of tools that a server offers. It changes with the installed and enabled plugins.
type toolset struct {
	session toolProvider
	server  *mcp.Server
	clients *clientSet
	rounds  *questionRounds

	mu         sync.Mutex
	listed     map[string]*offeredTool             // by client name
	searchable bool                                // the search tool is offered
	features   map[string]session.ResourceOrPrompt // offered resources and prompts, by name
}

// offeredTool is a tool that the server offers, with its cached schemas.
type offeredTool struct {
	tool     session.Tool
	specText string // JSON of the tool's specification
	schemas  func() (*toolSchemas, error)
}

// refreshTools offers the session's current tools, removes others, and notifies clients of changes.
func (ts *toolset) refreshTools() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	removed := maps.Clone(ts.listed)
	for _, t := range ts.session.Tools() {
		name := clientToolName(t)
		delete(removed, name)
		text, err := json.Marshal(t.Spec)
		if err != nil {
			continue // it was parsed from JSON
		}
		if known := ts.listed[name]; known != nil && known.specText == string(text) {
			continue
		}
		ts.listed[name] = &offeredTool{t, string(text), sync.OnceValues(func() (*toolSchemas, error) { return schemasWithoutClaims(t) })}
		ts.server.AddTool(newToolDefinition(t), ts.newToolHandler(t))
	}
	if names := slices.Collect(maps.Keys(removed)); len(names) > 0 {
		for _, name := range names {
			delete(ts.listed, name)
		}
		ts.server.RemoveTools(names...)
		ts.clients.unlistTools(names)
	}
	ts.refreshResourcesAndPrompts()
	ts.updateSearchTool() // last, because a removed tool may have had the search tool's name
}

// newToolHandler returns the MCP handler that calls a tool for a client.
func (ts *toolset) newToolHandler(t session.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		outcome, err := ts.callForClient(ctx, t, req)
		if err != nil {
			return nil, err
		}
		if outcome.questions != nil {
			return &mcp.CallToolResult{RequestState: outcome.state, InputRequests: outcome.questions}, nil
		}
		result := toToolResult(outcome.result, t.Spec.TextResult)
		if callProtocolVersion(req) < structuredSince && len(result.Content) > 0 {
			result.StructuredContent = nil
		}
		return result, nil
	}
}

// callForClient makes a call for a client, or continues a suspended call.
func (ts *toolset) callForClient(ctx context.Context, t session.Tool, req *mcp.CallToolRequest) (*callOutcome, error) {
	client := ts.clients.getOrCreateClientState(req.Session)
	ctx, cancel := client.callContext(ctx)
	defer cancel()
	s, err := client.roots.narrowedSession(ctx, req.Session)
	if err == nil {
		s, err = ts.clients.narrowSession(s, client, req)
	}
	if err != nil {
		return &callOutcome{result: &session.Result{Err: &session.Error{Code: pluginpb.CodeUnavailable, Message: err.Error(),
			Hint: "the client must name existing directories or none"}}}, nil
	}
	if callProtocolVersion(req) >= statelessSince {
		if hasSingleCallSession(req) {
			return ts.rounds.startOrContinueCall(ctx, context.Background(), s, t, req)
		}
		return ts.rounds.startOrContinueCall(ctx, client.ctx, s, t, req)
	}
	if c := req.ClientCapabilities(); clientSupportsForms(req) || c != nil && (c.Sampling != nil || c.RootsV2 != nil) {
		ctx = withClientQuestions(ctx, req, newSessionAsker(req.Session), new([]string))
	}
	arguments := req.Params.Arguments
	req.Params.Arguments = nil // the SDK holds the request until the call's end
	return &callOutcome{result: ts.callWithEvents(ctx, s, t, req, arguments)}, nil
}

func (ts *toolset) callWithEvents(ctx context.Context, s toolProvider, t session.Tool, req *mcp.CallToolRequest,
	arguments json.RawMessage) *session.Result {
	events, end := ts.newEventForwarder(ctx, t, req)
	defer end()
	return s.Call(withRequestInfo(ctx, req), t.Name, arguments, events)
}

// withRequestInfo adds the description and the trace context of a request to a context, and whether its client reads
// output.
func withRequestInfo(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	if req.Params.GetProgressToken() == nil {
		ctx = session.WithoutOutputEvents(ctx)
	}
	r := session.RequestInfo{Method: methodOfCall(req.Params.Name), Tool: req.Params.Name, Session: req.Session.ID(), Version: callProtocolVersion(req),
		Transport: "pipe"}
	if req.Extra != nil && req.Extra.Header != nil {
		r.Transport = "tcp" // HTTP
	}
	var t session.TraceParent
	t.Parent, _ = req.Params.Meta["traceparent"].(string)
	t.State, _ = req.Params.Meta["tracestate"].(string)
	return session.WithTraceParent(session.WithRequest(ctx, r), t)
}

// newEventForwarder returns a function that forwards a call's events to the client: log messages, which the SDK filters
// by level, and progress and output if the client asked for progress. The caller calls end after the call.
func (ts *toolset) newEventForwarder(ctx context.Context, t session.Tool, req *mcp.CallToolRequest) (events func(session.CallEvent), end func()) {
	token := req.Params.GetProgressToken()
	bytes := 0.0
	return session.ForwardWholeCharacters(func(e session.CallEvent) {
		if e.Changed != "" {
			ts.notifyResourceChanged(ctx, t, e.Changed)
			return
		}
		if e.Log != nil {
			_ = req.Session.Log(ctx, toLoggingMessage(t, e.Log)) // messages may be dropped
			return
		}
		if token == nil {
			return
		}
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Message: e.Message, Progress: e.Done, Total: e.Total}
		if e.Output != nil {
			bytes += float64(len(e.Output))
			p.Progress, p.Message = bytes, string(e.Output)
		}
		_ = req.Session.NotifyProgress(ctx, p) // messages may be dropped
	})
}

// toLoggingMessage converts a tool's log message to MCP. Its data is the text, or an object with text and attributes.
func toLoggingMessage(t session.Tool, l *session.LogMessage) *mcp.LoggingMessageParams {
	p := &mcp.LoggingMessageParams{Logger: t.Plugin + "." + t.Spec.Name, Level: "info", Data: l.Message}
	switch {
	case l.Level >= slog.LevelError:
		p.Level = "error"
	case l.Level >= slog.LevelWarn:
		p.Level = "warning"
	}
	data := map[string]any{}
	if l.Attributes != nil && json.Unmarshal(l.Attributes, &data) == nil {
		data["message"] = l.Message
		p.Data = data
	}
	return p
}

// findOfferedTool returns the offered tool with a client name; nil for none.
func (ts *toolset) findOfferedTool(name string) *offeredTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.listed[name]
}

// completeToolLists is middleware that adds the schemas to tool lists and removes deferred tools. Schemas are built at
// the first list, so clients that only connect do not wait for them. It also marshals call results for versions with
// sessions.
func (ts *toolset) completeToolLists(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if called, ok := result.(*mcp.CallToolResult); ok && err == nil && callProtocolVersion(req.(*mcp.CallToolRequest)) < statelessSince {
			return marshalResult(called)
		}
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		list.Tools = ts.hideUnlistedTools(req, list.Tools)
		for i, tool := range list.Tools {
			known := ts.findOfferedTool(tool.Name)
			if known == nil {
				continue // removed in the meantime
			}
			p, err := known.schemas()
			if err != nil {
				return nil, fmt.Errorf("tool %s: %w", tool.Name, err)
			}
			with := *tool
			with.InputSchema = p.input
			if p.output != nil {
				with.OutputSchema = p.output
			}
			list.Tools[i] = &with
		}
		return list, nil
	}
}

// toolSchemas are the schemas of a tool in the form that clients get.
type toolSchemas struct{ input, output json.RawMessage }

// schemasWithoutClaims returns the schemas of a tool without claims, which only the host needs.
func schemasWithoutClaims(t session.Tool) (*toolSchemas, error) {
	var p toolSchemas
	var err error
	if p.input, err = t.Spec.Input.WithoutClaims(); err != nil {
		return nil, err
	}
	if t.Spec.Output != nil && !t.Spec.TextResult {
		p.output, err = t.Spec.Output.WithoutClaims()
	}
	return &p, err
}
