package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// request is one call of a tool.
type request = sdk.Request[json.RawMessage]

// calls are those under way.
type calls struct {
	mu   sync.Mutex
	last int
	open map[string]*request // by their progress tokens
}

func newCalls() *calls { return &calls{open: map[string]*request{}} }

// begin notes a call, and returns its token.
func (c *calls) begin(r *request) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	token = strconv.Itoa(c.last)
	c.open[token] = r
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, token)
	}
}

// asking is the call that a question of the server's is put to a person for: the one that began last.
func (c *calls) asking() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := c.last; n > 0; n-- {
		if r := c.open[strconv.Itoa(n)]; r != nil {
			return r
		}
		if len(c.open) == 0 {
			break
		}
	}
	return nil
}

func (c *calls) progress(p *mcp.ProgressNotificationParams) {
	c.mu.Lock()
	r := c.open[fmt.Sprint(p.ProgressToken)]
	c.mu.Unlock()
	if r != nil {
		r.Progress(p.Progress, p.Total, p.Message)
	}
}

// log passes on what the server logs, to all who may have caused it.
func (c *calls) log(p *mcp.LoggingMessageParams) {
	message, attributes := fmt.Sprint(p.Data), []any(nil)
	if text, ok := p.Data.(string); ok {
		message = text
	} else if data, ok := p.Data.(map[string]any); ok {
		message = fmt.Sprint(p.Logger)
		attributes = []any{"data", data}
	}
	c.mu.Lock()
	var to []*request
	for _, r := range c.open {
		if !slices.Contains(to, r) {
			to = append(to, r)
		}
	}
	c.mu.Unlock()
	for _, r := range to {
		r.Log.Log(context.Background(), levels[p.Level], message, attributes...)
	}
}

// handler calls a tool of the server's.
func (s *server) handler(spec pluginpb.Spec) func(context.Context, *request) (sdk.Result, error) {
	return func(ctx context.Context, req *request) (sdk.Result, error) {
		link, err := s.connect(ctx, &req.Environment)
		if err != nil {
			return sdk.Result{}, err
		}
		if err := s.withdrawn(spec.Name); err != nil {
			return sdk.Result{}, err
		}
		token, end := s.calls.begin(req)
		defer end()
		ended := s.keeper.begin(req, s.id+"."+spec.Name)
		params := &mcp.CallToolParams{Name: s.definition.Tools[spec.Name].Name, Arguments: req.Args}
		params.SetProgressToken(token)
		if parent, state := req.Trace(); parent != "" {
			params.Meta["traceparent"] = parent
			if state != "" {
				params.Meta["tracestate"] = state
			}
		}
		said, err := link.session.CallTool(ctx, params)
		note, undo := ended()
		if err != nil {
			return sdk.Result{}, s.notAnswered(ctx, link, spec.Name, err)
		}
		result, err := s.result(spec, said)
		result.Undo = undo
		if note != "" {
			result.Content = append(result.Content, sdk.Content{Text: "[" + note + "]"})
		}
		return result, err
	}
}

// notAnswered says why a call has no result.
func (s *server) notAnswered(ctx context.Context, l *link, tool string, err error) error {
	if ctx.Err() != nil {
		return sdk.Errorf(sdk.Cancelled, "%s was cancelled", tool)
	}
	var said *jsonrpc.Error
	if l.child == nil || errors.As(err, &said) {
		return sdk.Errorf(sdk.Failed, "%s: %v", tool, err)
	}
	select {
	case <-l.ended:
	case <-time.After(2 * endGrace): // it goes on; what it said can't be read
		return sdk.Errorf(sdk.Failed, "%s: %v", tool, err)
	}
	why := ""
	if !errors.Is(err, io.EOF) && !errors.Is(err, mcp.ErrConnectionClosed) {
		why = fmt.Sprintf(": %v", err)
	}
	return sdk.Errorf("unavailable", "the server %s has ended during the call%s%s", s.id, why, l.child.lastWords()).
		WithHint("the call may have been carried out or not; it is not repeated, and the next one starts the server again")
}
