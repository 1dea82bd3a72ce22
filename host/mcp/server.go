// Package mcp serves a session's tools over the Model Context Protocol.
//
// It translates between the official SDK and the session, and decides nothing: every call goes through the session.
// It must not know how a call is made, nor where a connection comes from.
//
// The transport over standard input and output is this package's own ([Streams]), because the SDK's ends the session
// at an invalid or oversized line. Over HTTP, this package checks host, origin and token before the SDK reads the
// message.
//
// A client's roots can only narrow the access that the operator allows. Other roots have no effect, since most
// clients name their working directory whatever a server is for.
//
// If a tool's text is its result, the structured details go into _meta, because many clients show a model only the
// structured content if there is any.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// toolProvider lists and calls tools, as *session.Session does.
type toolProvider interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
}

// localSession is a session whose workspace is on this machine, where the client's roots are.
type localSession interface {
	toolProvider
	Policy() *policy.Policy
	SpawnSession(origin session.Origin, narrower policy.Restriction) (*session.Session, error)
}

// *session.Session must be a localSession. Otherwise clients' roots would have no effect.
var _ localSession = (*session.Session)(nil)

// Server serves a session's tools to MCP clients.
type Server struct {
	*mcp.Server
	tools     *toolset
	clients   *clientSet
	arguments *largeArgumentStore
}

// NewServer returns a server for a session's tools. Clients pass instructions to the model.
func NewServer(s toolProvider, version, instructions string) *Server {
	all := &clientSet{session: s, all: make(map[*mcp.ServerSession]*clientState),
		narrowed: make(map[narrowedSession]toolProvider)}
	server := mcp.NewServer(&mcp.Implementation{Name: "picoclaw", Title: "picoclaw", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		CompletionHandler: func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return completeArgument(narrowedPolicy(ctx), s, req)
		},
		SubscribeHandler: func(ctx context.Context, req *mcp.SubscribeRequest) error {
			if _, ok := findResource(narrowedPolicy(ctx), s, req.Params.URI); !ok {
				return mcp.ResourceNotFoundError(req.Params.URI)
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		RootsListChangedHandler: func(_ context.Context, req *mcp.RootsListChangedRequest) {
			all.getOrCreateClientState(req.Session).roots.changes.Add(1)
		},
		// Tool lists depend on the client's searches, so shared caches must not store them.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	ts := &toolset{session: s, server: server, clients: all, listed: map[string]*offeredTool{},
		features: map[string]session.ResourceOrPrompt{}}
	ts.rounds = &questionRounds{states: newMemoryRequestStates(), tools: ts, suspended: &suspendedCalls, tasks: &processTasks,
		calls: map[*suspendedCall]bool{}}
	ts.refreshTools()
	arguments := new(largeArgumentStore)
	server.AddReceivingMiddleware(arguments.restoreArguments, new(requestLimiter).limitCalls, negotiateVersion,
		ts.answerTaskRequests, ts.completeToolLists,
		ts.narrowRequests)
	return &Server{server, ts, all, arguments}
}

// PersistQuestionStates stores the states of an agent's questions in a home, so that users' answers are valid after a
// restart. Call it before the server serves.
func (s *Server) PersistQuestionStates(home, agent string) error {
	states, err := openRequestStateStore(home)
	if err != nil {
		return err
	}
	s.tools.rounds.states, s.tools.rounds.agent = states, agent
	return nil
}

// cancelAllCalls cancels the calls of all clients, including suspended calls.
func (s *Server) cancelAllCalls() {
	s.clients.cancelAllCalls()
	s.tools.rounds.cancelAllCalls()
}

// endGrace is the time for a session to end by itself, since a client that reads no responses could block the end.
const endGrace = 2 * time.Second

// ServeStreams serves one client over two streams until the session ends or ctx is done.
func (s *Server) ServeStreams(ctx context.Context, streams Streams) error {
	conn := streams.newStreamConn(s.arguments)
	sess, err := s.Connect(ctx, conn, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- sess.Wait() }()
	select {
	case err = <-ended:
		return err
	case <-conn.inputDone:
	case <-ctx.Done():
		s.cancelAllCalls()
		go func() { _ = sess.Close() }() // the connection may be closed already
	}
	select {
	case err = <-ended:
	case <-time.After(endGrace):
		s.cancelAllCalls()
	}
	return errors.Join(ctx.Err(), err)
}

// FollowToolChanges updates the offered tools after each value from changes, until changes is closed or ctx is done.
func (s *Server) FollowToolChanges(ctx context.Context, changes <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, more := <-changes:
			if !more {
				return
			}
			s.tools.refreshTools()
		}
	}
}

// HasHTTPSession reports whether the server has an HTTP session with this id.
func (s *Server) HasHTTPSession(id string) bool {
	for sess := range s.Sessions() {
		if sess.ID() == id {
			return true
		}
	}
	return false
}

// CountHTTPSessions returns the number of HTTP sessions, without the SDK's sessions for single stateless requests.
func (s *Server) CountHTTPSessions() (n int) {
	for sess := range s.Sessions() {
		if sess.ID() != "" {
			n++
		}
	}
	return n
}

// EndAllSessions cancels all calls and ends all sessions. It returns when all have ended, or ctx is done.
func (s *Server) EndAllSessions(ctx context.Context) {
	s.cancelAllCalls()
	var ended sync.WaitGroup
	for sess := range s.Sessions() {
		ended.Go(func() { _ = sess.Close() }) // the connection may be closed already
	}
	done := make(chan struct{})
	go func() { ended.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
