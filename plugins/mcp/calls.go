package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// toolRequest is one call of a tool.
type toolRequest = sdk.Request[json.RawMessage]

// callTracker tracks the calls in progress, to attribute notifications to them.
type callTracker struct {
	mu        sync.Mutex
	lastToken int
	active    map[string]*toolRequest // by progress token
}

// beginCall registers a call, and returns its progress token and a function that ends it.
func (c *callTracker) beginCall(r *toolRequest) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastToken++
	token = strconv.Itoa(c.lastToken)
	c.active[token] = r
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.active, token)
	}
}

// latestCall returns the latest call in progress. An elicitation is attributed to it: the protocol does not name a
// call.
func (c *callTracker) latestCall() *toolRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := c.lastToken; n > 0; n-- {
		if r := c.active[strconv.Itoa(n)]; r != nil {
			return r
		}
		if len(c.active) == 0 {
			break
		}
	}
	return nil
}

// forwardProgress forwards a progress notification to its call.
func (c *callTracker) forwardProgress(p *mcp.ProgressNotificationParams) {
	c.mu.Lock()
	r := c.active[fmt.Sprint(p.ProgressToken)]
	c.mu.Unlock()
	if r != nil {
		r.ReportProgress(p.Progress, p.Total, p.Message)
	}
}

// forwardLog forwards a log message of the server to all calls in progress, because any of them may have caused it.
func (c *callTracker) forwardLog(p *mcp.LoggingMessageParams) {
	message, attributes := fmt.Sprint(p.Data), []any(nil)
	if text, ok := p.Data.(string); ok {
		message = text
	} else if data, ok := p.Data.(map[string]any); ok {
		message = fmt.Sprint(p.Logger)
		attributes = []any{"data", data}
	}
	c.mu.Lock()
	var requests []*toolRequest
	for _, r := range c.active {
		if !slices.Contains(requests, r) {
			requests = append(requests, r)
		}
	}
	c.mu.Unlock()
	for _, r := range requests {
		r.Log.Log(context.Background(), logLevels[p.Level], message, attributes...)
	}
}

// newToolHandler returns the handler that calls a tool of the server.
func (s *mcpServer) newToolHandler(spec pluginpb.ToolSpec) func(context.Context, *toolRequest) (sdk.Result, error) {
	outputSchema := sync.OnceValues(func() (*jsonschema.Resolved, error) {
		schema, err := spec.Output.Parse()
		if err != nil {
			return nil, err
		}
		return schema.Resolve(nil)
	})
	return func(ctx context.Context, req *toolRequest) (sdk.Result, error) {
		link, err := s.connectForCall(ctx, req, spec.Name)
		if err != nil {
			return sdk.Result{}, err
		}
		token, endCall := s.calls.beginCall(req)
		defer endCall()
		endChanges := s.changes.beginCall(req, s.id+"."+spec.Name)
		params := &mcp.CallToolParams{Name: s.definition.Tools[spec.Name].Name, Arguments: req.Args}
		params.SetProgressToken(token)
		if parent, state := req.TraceContext(); parent != "" {
			params.Meta["traceparent"] = parent
			if state != "" {
				params.Meta["tracestate"] = state
			}
		}
		response, err := link.session.CallTool(ctx, params)
		note, undo := endChanges()
		if err != nil {
			return sdk.Result{}, s.newCallError(ctx, link, spec.Name, err)
		}
		result, err := s.convertResult(spec, response, outputSchema)
		result.Undo = undo
		if note != "" {
			result.Content = append(result.Content, sdk.Content{Text: "[" + note + "]"})
		}
		return result, err
	}
}

// connectForCall starts the server if it does not run. It returns an error if the called tool, resource or prompt is
// quarantined.
func (s *mcpServer) connectForCall(ctx context.Context, req *toolRequest, name string) (*serverConnection, error) {
	link, err := s.ensureConnected(ctx, &req.Environment)
	if err == nil {
		err = s.quarantineError(name)
	}
	return link, err
}

// newCallError returns the error for a call without a result, with the reason.
func (s *mcpServer) newCallError(ctx context.Context, l *serverConnection, tool string, err error) error {
	if ctx.Err() != nil {
		return sdk.Errorf(sdk.Cancelled, "%s was cancelled", tool)
	}
	var rpcError *jsonrpc.Error
	if l.child == nil || errors.As(err, &rpcError) {
		return sdk.Errorf(sdk.Failed, "%s: %v", tool, err)
	}
	select {
	case <-l.ended:
	case <-time.After(2 * exitGrace): // the server still runs, but its response is unreadable
		return sdk.Errorf(sdk.Failed, "%s: %v", tool, err)
	}
	cause := ""
	if !errors.Is(err, io.EOF) && !errors.Is(err, mcp.ErrConnectionClosed) {
		cause = fmt.Sprintf(": %v", err)
	}
	return sdk.Errorf("unavailable", "the server %s ended during the call%s%s", s.id, cause, l.child.describeExit()).
		WithHint("the effects of the call are unknown; it is not repeated, and the next call restarts the server")
}

// codeBadResult is the error code of a result that violates the tool's schema.
const codeBadResult = "bad_result"

// convertResult converts a result of the server to one of the SDK.
func (s *mcpServer) convertResult(spec pluginpb.ToolSpec, result *mcp.CallToolResult,
	outputSchema func() (*jsonschema.Resolved, error)) (sdk.Result, error) {
	out := sdk.Result{}
	for _, c := range result.Content {
		block := convertContent(c)
		if block.URI == "" && block.Data == nil && len(out.Content) == 0 {
			if out.Text != "" {
				out.Text += "\n"
			}
			out.Text += block.Text
			continue
		}
		out.Content = append(out.Content, block)
	}
	if result.StructuredContent != nil {
		text, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return sdk.Result{}, err
		}
		out.Structured = text
	}
	if result.IsError {
		message := out.Text
		if strings.TrimSpace(message) == "" {
			message = "the server reports a failure without a reason"
		}
		out.Text = ""
		return out, sdk.Errorf(sdk.Failed, "%s", message)
	}
	if spec.Output == nil {
		return out, nil
	}
	schema, err := outputSchema()
	if err == nil && result.StructuredContent == nil {
		err = sdk.Errorf(codeBadResult, "the result of server %s for %s lacks the structured content that its schema requires", s.id, spec.Name)
	} else if err == nil {
		if err = schema.Validate(result.StructuredContent); err != nil {
			err = sdk.Errorf(codeBadResult, "the result of server %s for %s violates its schema: %v", s.id, spec.Name, err)
		}
	}
	if err != nil {
		out.Structured = nil // readers may rely on the schema
	}
	return out, err
}

// convertContent converts one content block of a result.
func convertContent(c mcp.Content) sdk.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		return sdk.Content{Text: c.Text}
	case *mcp.ImageContent:
		return sdk.Content{Data: c.Data, MediaType: c.MIMEType}
	case *mcp.AudioContent:
		return sdk.Content{Data: c.Data, MediaType: c.MIMEType}
	case *mcp.EmbeddedResource:
		return sdk.Content{Text: c.Resource.Text, Data: c.Resource.Blob, MediaType: c.Resource.MIMEType, URI: c.Resource.URI}
	case *mcp.ResourceLink:
		text := c.Name
		if c.Description != "" {
			text += ": " + c.Description
		}
		return sdk.Content{Text: text + " (" + c.URI + ")"}
	}
	return sdk.Content{Text: "(content of an unknown type)"}
}
