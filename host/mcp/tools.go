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

// describe is what clients are told of a tool, but for its schemas.
func describe(t session.Tool) *mcp.Tool {
	return &mcp.Tool{
		Name:        clientName(t),
		Description: t.Spec.Doc,
		InputSchema: &jsonschema.Schema{Type: "object"}, // until somebody asks for the list
		Annotations: hints(t.Spec),
	}
}

// hints are what a tool has declared of itself. What it has not stays out, and the protocol's defaults hold, which
// expect the worst: nobody is told that a tool is harmless because its author has said nothing. Whoever calls a risk
// low or medium has said that nothing is lost for good and nothing goes out, unless another hint says so.
func hints(s *pluginpb.Spec) *mcp.ToolAnnotations {
	tame := s.Risk == "low" || s.Risk == "medium"
	h := &mcp.ToolAnnotations{ReadOnlyHint: s.ReadOnly, IdempotentHint: s.Idempotent}
	if s.Destructive || s.ReadOnly || tame {
		h.DestructiveHint = &s.Destructive
	}
	if s.OpenWorld || tame {
		h.OpenWorldHint = &s.OpenWorld
	}
	if *h == (mcp.ToolAnnotations{}) {
		return nil
	}
	return h
}

func clientName(t session.Tool) string { return catalog.ClientName(t.Name) }

// toolset is the tools that a server offers. They change when the operator installs, removes or switches something.
type toolset struct {
	session toolSession
	server  *mcp.Server
	clients *clients
	asked   *questions

	mu         sync.Mutex
	listed     map[string]*listedTool // by the clients' name
	searchable bool                   // whether the search is offered
}

type listedTool struct {
	tool    session.Tool
	spec    string // all that it says of itself
	schemas func() (*published, error)
}

// refresh makes the server offer what the session has now. Clients are told if that is something else than before.
func (ts *toolset) refresh() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	gone := maps.Clone(ts.listed)
	for _, t := range ts.session.Tools() {
		name := clientName(t)
		delete(gone, name)
		text, err := json.Marshal(t.Spec)
		if err != nil {
			continue // it came out of JSON
		}
		if known := ts.listed[name]; known != nil && known.spec == string(text) {
			continue
		}
		ts.listed[name] = &listedTool{t, string(text), sync.OnceValues(func() (*published, error) { return publish(t) })}
		ts.server.AddTool(describe(t), ts.handler(t))
	}
	if names := slices.Collect(maps.Keys(gone)); len(names) > 0 {
		for _, name := range names {
			delete(ts.listed, name)
		}
		ts.server.RemoveTools(names...)
		ts.clients.forget(names)
	}
	ts.offerSearch() // last: one of those that are gone may have had its name
}

// handler calls a tool for a client.
func (ts *toolset) handler(t session.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		client := ts.clients.of(req.Session)
		ctx, cancel := client.bound(ctx)
		defer cancel()
		s, err := client.roots.session(ctx, req.Session)
		if err != nil {
			return answer(noRoots(err), false), nil
		}
		result := ts.asked.call(ctx, s, t, req)
		if versionOf(req) < structuredSince && len(result.Content) > 0 {
			result.StructuredContent = nil
		}
		return result, nil
	}
}

// tell makes a call and passes its events on to a client that has asked for them.
func tell(ctx context.Context, s toolSession, t session.Tool, req *mcp.CallToolRequest) *session.Result {
	events, end := passed(ctx, t, req)
	defer end()
	return s.Call(from(ctx, req), t.Name, req.Params.Arguments, events)
}

// from says by which message a call has come, and where its client stands in what it traces.
func from(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	r := session.Request{Method: "tools/call", Tool: req.Params.Name, Session: req.Session.ID(), Version: versionOf(req),
		Transport: "pipe"}
	if req.Extra != nil && req.Extra.Header != nil {
		r.Transport = "tcp" // HTTP
	}
	var t session.Trace
	t.Parent, _ = req.Params.Meta["traceparent"].(string)
	t.State, _ = req.Params.Meta["tracestate"].(string)
	return session.WithTrace(session.WithRequest(ctx, r), t)
}

// passed passes a call's events on to a client: progress and output if it has asked for progress, and what the tool
// logs, which the SDK keeps from clients that have not asked for that. end is to be called when the call has ended.
func passed(ctx context.Context, t session.Tool, req *mcp.CallToolRequest) (events func(session.Event), end func()) {
	token := req.Params.GetProgressToken()
	bytes := 0.0
	return session.InCharacters(func(e session.Event) {
		if e.Log != nil {
			_ = req.Session.Log(ctx, message(t, e.Log)) // it may be dropped
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
		_ = req.Session.NotifyProgress(ctx, p) // it may be dropped
	})
}

// message puts what a tool logs into the protocol's form: a text, or an object with the text and what belongs to it.
func message(t session.Tool, l *session.Log) *mcp.LoggingMessageParams {
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

func (ts *toolset) find(name string) *listedTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.listed[name]
}

// middleware puts the tools' schemas into the list of tools, so that a client that only connects does not wait for
// them.
func (ts *toolset) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if called, ok := result.(*mcp.CallToolResult); ok && err == nil && versionOf(req.(*mcp.CallToolRequest)) < inRounds {
			return flatten(called)
		}
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		list.Tools = ts.shownTo(req, list.Tools)
		for i, tool := range list.Tools {
			known := ts.find(tool.Name)
			if known == nil {
				continue // removed at this moment
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

// published are a tool's schemas as clients are given them.
type published struct{ input, output json.RawMessage }

func publish(t session.Tool) (*published, error) {
	var p published
	var err error
	if p.input, err = t.Spec.Input.WithoutClaims(); err != nil {
		return nil, err
	}
	if t.Spec.Output != nil && !t.Spec.TextResult {
		p.output, err = t.Spec.Output.WithoutClaims()
	}
	return &p, err
}
