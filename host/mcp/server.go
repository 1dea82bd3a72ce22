// Package mcp offers a session's tools over the Model Context Protocol.
//
// It translates between the protocol and the session, and decides nothing: every call goes through the session. It
// must not know how a call is made, nor where the connection comes from.
package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host"
)

// session is what the server needs of a host; *host.Session is one.
type session interface {
	Tools() []host.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(host.Event)) *host.Result
}

// Server offers a session's tools.
type Server struct {
	*mcp.Server
	tools *toolset
}

// NewServer makes a server that offers a session's tools. instructions tell the model where it is.
func NewServer(s session, version, instructions string) *Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "picoclaw", Title: "picoclaw", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	ts := &toolset{session: s, server: server, asked: newQuestions(), listed: map[string]*listedTool{}}
	ts.refresh()
	server.AddReceivingMiddleware(ts.middleware)
	return &Server{server, ts}
}

// Follow offers what the session has whenever changes says that this may be something else, until it is closed or ctx
// is done.
func (s *Server) Follow(ctx context.Context, changes <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, more := <-changes:
			if !more {
				return
			}
			s.tools.refresh()
		}
	}
}

func handler(s session, asked *questions, t host.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return asked.call(ctx, s, t, req), nil
	}
}

// progress passes a call's events on to a client that has asked for them.
func progress(ctx context.Context, req *mcp.CallToolRequest) func(host.Event) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	var mu sync.Mutex
	bytes := 0.0
	return func(e host.Event) {
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Message: e.Message, Progress: e.Done, Total: e.Total}
		if e.Output != nil {
			mu.Lock()
			bytes += float64(len(e.Output))
			p.Progress, p.Message = bytes, strings.ToValidUTF8(string(e.Output), "\uFFFD")
			mu.Unlock()
		}
		_ = req.Session.NotifyProgress(ctx, p) // it may be dropped
	}
}
