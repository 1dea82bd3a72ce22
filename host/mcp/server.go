// Package mcp offers a session's tools over the Model Context Protocol.
//
// It translates between the official SDK and the session, and decides nothing: every call goes through the session. It
// must not know how a call is made, nor where the connection comes from.
//
// The server stands on the official SDK alone, with one transport of ours for standard input and output ([Lines]): the
// SDK's ends the session at a line that is no message, or too long for one. Over HTTP the host, origin and token of a
// request are checked before the SDK: a stranger's message is not even read.
//
// A client's roots choose within what the operator has opened. Those elsewhere are not applied, since nearly all
// clients name the directory they were started in, whatever a server is for.
//
// Where a tool's text is its result, the details go into _meta: many clients show a model the structured content alone
// where there is any.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// toolSession is what the server needs of a host; *session.Session is one.
type toolSession interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event)) *session.Result
}

// local is a session whose workspace is on this machine, where a client's directories are.
type local interface {
	toolSession
	Policy() *policy.Policy
	Spawn(origin session.Origin, narrower policy.Child) (*session.Session, error)
}

// Server offers a session's tools.
type Server struct {
	*mcp.Server
	tools   *toolset
	clients *clients
}

// NewServer makes a server that offers a session's tools. instructions tell the model where it is.
func NewServer(s toolSession, version, instructions string) *Server {
	all := newClients(s)
	server := mcp.NewServer(&mcp.Implementation{Name: "picoclaw", Title: "picoclaw", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		RootsListChangedHandler: func(_ context.Context, req *mcp.RootsListChangedRequest) {
			all.of(req.Session).roots.changed()
		},
		// A list says what this client has searched for: nobody in between keeps it for another one.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	ts := &toolset{session: s, server: server, clients: all, asked: newQuestions(), listed: map[string]*listedTool{}}
	ts.refresh()
	server.AddReceivingMiddleware(new(load).middleware, settle, ts.middleware)
	return &Server{server, ts, all}
}

// endGrace is how long a session may take to end, when its client has, or is told to. A client that does not read
// what it has asked for, and keeps the stream open, holds up the writing of answers for as long as it likes.
const endGrace = 2 * time.Second

// Run serves the one client at the other end of two streams, until that ends the session or ctx is done.
func (s *Server) Run(ctx context.Context, streams Lines) error {
	conn := streams.open()
	sess, err := s.Connect(ctx, conn, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- sess.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-conn.over:
	case <-ctx.Done():
		s.clients.cancelAll()
		go func() { _ = sess.Close() }() // its connection may be gone already
	}
	select {
	case err = <-ended:
	case <-time.After(endGrace):
		s.clients.cancelAll()
	}
	return errors.Join(ctx.Err(), err)
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

// Has reports whether a session over HTTP is one of this server's.
func (s *Server) Has(id string) bool {
	for sess := range s.Sessions() {
		if sess.ID() == id {
			return true
		}
	}
	return false
}

// Connected is how many sessions there are.
func (s *Server) Connected() (n int) {
	for range s.Sessions() {
		n++
	}
	return n
}

// End cancels all calls and ends all sessions, those over HTTP too. It returns when they have ended, or ctx is done.
func (s *Server) End(ctx context.Context) {
	s.clients.cancelAll()
	var ended sync.WaitGroup
	for sess := range s.Sessions() {
		ended.Go(func() { _ = sess.Close() }) // its connection may be gone already
	}
	done := make(chan struct{})
	go func() { ended.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// The versions of the protocol from which on something is done in another way.
const (
	structuredSince = "2025-06-18" // results have structured content
	inRounds        = "2026-07-28" // there is no initialize: each request says what others say once
)

// settle makes a session go on in the version that its client is told in answer to initialize. The SDK keeps the one
// that was asked for, goes by it ever after, and so speaks a version that nobody has agreed to with a client whose
// own it does not know.
func settle(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if req, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok && req.Params != nil {
			req.Params.ProtocolVersion = agreed(req.Params.ProtocolVersion)
		}
		return next(ctx, method, req)
	}
}

// agreed is the version that a client is told: the one that it asks for, or the newest that initialize can begin.
func agreed(asked string) string {
	known := mcp.SupportedProtocolVersions() // the newest first
	old := known[slices.IndexFunc(known, func(v string) bool { return v < inRounds }):]
	if slices.Contains(old, asked) {
		return asked
	}
	return old[0]
}

// versionOf is the version in which a call is answered: its own, where it says what others say once, or its session's.
func versionOf(req *mcp.CallToolRequest) string {
	if own := req.ProtocolVersion(); own >= inRounds {
		return own
	}
	if p := req.Session.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return inRounds
}
