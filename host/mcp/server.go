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
	"github.com/picoclaw/picoclaw/host/policy"
)

// session is what the server needs of a host; *host.Session is one.
type session interface {
	Policy() *policy.Policy
	Tools() []host.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(host.Event)) *host.Result
	Spawn(origin host.Origin, narrower policy.Child) (*host.Session, error)
}

// Server offers a session's tools.
type Server struct {
	*mcp.Server
	tools   *toolset
	clients *clients
}

// NewServer makes a server that offers a session's tools. instructions tell the model where it is.
func NewServer(s session, version, instructions string) *Server {
	all := newClients(s)
	server := mcp.NewServer(&mcp.Implementation{Name: "picoclaw", Title: "picoclaw", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		RootsListChangedHandler: func(_ context.Context, req *mcp.RootsListChangedRequest) {
			all.of(req.Session).roots.changed()
		},
	})
	ts := &toolset{session: s, server: server, clients: all, asked: newQuestions(), listed: map[string]*listedTool{}}
	ts.refresh()
	server.AddReceivingMiddleware(ts.middleware)
	return &Server{server, ts, all}
}

// Run serves the one client at the other end of two streams, until that ends the session or ctx is done.
func (s *Server) Run(ctx context.Context, streams Lines) error {
	var conn *lines
	streams.opened = func(c *lines) { conn = c }
	session, err := s.Connect(ctx, streams, nil)
	if err != nil {
		return err
	}
	d := newDirect(s.tools, session, conn)
	conn.direct.Store(d)
	stop := context.AfterFunc(ctx, func() { _ = session.Close() }) // its connection may be gone already
	defer stop()
	err = session.Wait()
	d.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
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

// End cancels all calls and ends all sessions, those over HTTP too. It returns when they have ended, or ctx is done.
func (s *Server) End(ctx context.Context) {
	s.clients.cancelAll()
	var ended sync.WaitGroup
	for session := range s.Sessions() {
		ended.Go(func() { _ = session.Close() }) // its connection may be gone already
	}
	done := make(chan struct{})
	go func() { ended.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
