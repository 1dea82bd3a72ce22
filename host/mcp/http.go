package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

// Default limits of HTTP sessions, and the time for a client to send a message after its header.
const (
	DefaultMaxSessions = 32
	DefaultSessionIdle = 30 * time.Minute
	bodyTimeout        = 30 * time.Second
)

// maxLargeBytes limits the bytes of the large messages that a server processes at once. Each takes up to five times its
// size in memory. Others wait for at most largeTimeout before they are read. A message above the limit waits until no
// other large message is processed.
const (
	maxLargeBytes = 32 << 20
	largeTimeout  = 2 * time.Minute
)

// HTTPOptions configures access to a server over HTTP.
type HTTPOptions struct {
	// Token is the bearer token that each request needs. It must not be empty. ReadToken, if not nil, returns the current
	// token at each request, so that a removed or replaced token is refused.
	Token     string
	ReadToken func() (string, error)
	// ResourceMetadata is the URL of the metadata that name an authorization server (RFC 9728); empty for none.
	ResourceMetadata string
	// Hosts are the allowed names in Host headers, without ports, besides localhost and IP addresses. Requests for
	// other names are refused, to prevent DNS rebinding.
	Hosts []string
	// MaxSessions limits the number of sessions. SessionIdle is the time without requests after which a session ends.
	// Zero means the default.
	MaxSessions int
	SessionIdle time.Duration
}

// NewHTTPHandler returns a handler for MCP's streamable HTTP transport. Each client that initializes gets an MCP
// session; requests of stateless protocol versions need none. All clients share the server's agent session.
func (s *Server) NewHTTPHandler(o HTTPOptions) (http.Handler, error) {
	if o.Token == "" {
		return nil, errors.New("serving MCP over HTTP requires a token")
	}
	o.MaxSessions = cmp.Or(o.MaxSessions, DefaultMaxSessions)
	o.SessionIdle = cmp.Or(o.SessionIdle, DefaultSessionIdle)
	if o.ReadToken == nil {
		o.ReadToken = func() (string, error) { return o.Token, nil }
	}
	s.tools.rounds.token = o.Token
	get := func(*http.Request) *mcp.Server { return s.Server }
	options := mcp.StreamableHTTPOptions{
		SessionTimeout:             o.SessionIdle,
		MaxRequestBodyBytes:        -1,   // sessionLimiter enforces the limit
		DisableLocalhostProtection: true, // httpAccessGate is stricter
	}
	limiter := &sessionLimiter{server: s, maxSessions: o.MaxSessions, large: semaphore.NewWeighted(maxLargeBytes), ids: newIDPreserver()}
	limiter.stateful = mcp.NewStreamableHTTPHandler(get, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	limiter.stateless = mcp.NewStreamableHTTPHandler(get, &options)
	return &httpAccessGate{hosts: o.Hosts, readToken: o.ReadToken, metadata: o.ResourceMetadata, next: limiter}, nil
}

// sessionLimiter limits HTTP requests and sessions, and routes requests by their protocol version.
type sessionLimiter struct {
	server              *Server
	maxSessions         int
	stateful, stateless http.Handler
	limiter             requestLimiter
	large               *semaphore.Weighted // of maxLargeBytes
	ids                 requestIDPreserver

	mu       sync.Mutex
	reserved int                        // requests that may create sessions, and subscriptions
	uses     map[string]sessionActivity // by session id
}

// sessionHeader is the HTTP header with the id of an MCP session.
const sessionHeader = "Mcp-Session-Id"

// ServeHTTP checks the limits and passes on the request.
func (h *sessionLimiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Del(argumentKeyHeader)
	answer := &errorRewriter{ResponseWriter: w, ids: h.ids}
	if r.Method == http.MethodPost {
		done, ok := h.admitRequest(answer, r)
		if !ok {
			return
		}
		defer done()
	}
	if isStatelessRequest(r, answer.request) {
		if message := parseEnvelope(answer.request); message.Method == "server/discover" && message.declaresRoots() {
			refuseStatelessClient(answer, message.ID)
			return
		}
		h.stateless.ServeHTTP(answer, r)
		return
	}
	id := r.Header.Get(sessionHeader)
	if r.Method == http.MethodDelete && id != "" {
		h.server.clients.cancelSessionCalls(id) // otherwise ending the session would wait for its calls
	}
	h.addInFlightRequests(id, 1)
	h.stateful.ServeHTTP(answer, r)
	h.addInFlightRequests(id, -1)
	if id == "" {
		h.addInFlightRequests(w.Header().Get(sessionHeader), 0) // a new session
	}
}

// admitRequest reads and checks the message of a request. If it returns false, it has answered the request. Otherwise
// the caller calls done at the end.
func (h *sessionLimiter) admitRequest(w *errorRewriter, r *http.Request) (done func(), ok bool) {
	if err := h.limiter.acquireSlot(0); err != nil {
		writeRetryLater(w, "1", err.Error())
		return nil, false
	}
	size, ok := h.awaitMemory(w, r)
	if !ok {
		h.limiter.releaseSlot(0)
		writeRetryLater(w, "1", fmt.Sprintf("%v: messages of %d MB; wait for their responses, then retry", errOverloaded, maxLargeBytes>>20))
		return nil, false
	}
	key := ""
	release := func() {
		h.server.arguments.byKey.Delete(key)
		h.large.Release(size)
		h.limiter.releaseSlot(0)
	}
	body, ok := readRequestMessage(w, r)
	if !ok {
		release()
		return nil, false
	}
	if key, body = h.server.arguments.storeArguments(body); key != "" {
		r.Header.Set(argumentKeyHeader, key)
	}
	body, method, taskID := rewriteTaskRequest(h.ids.quoteIDs(body))
	if method != "" {
		rewriteTaskHeaders(r.Header, method, taskID)
	}
	w.request, r.Body, r.ContentLength = body, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if !needsSessionSlot(r, body) {
		return release, true
	}
	if !h.reserveSession() {
		release()
		writeRetryLater(w, "60", fmt.Sprintf(
			"all %d sessions are in use, and none has been idle for a minute; end one with DELETE, or retry", h.maxSessions))
		return nil, false
	}
	return func() { h.releaseReservation(); release() }, true
}

// awaitMemory waits until the large messages in progress leave room for this one, in order of arrival. It returns the
// size to release. Small messages never wait, since other requests may depend on them.
func (h *sessionLimiter) awaitMemory(w http.ResponseWriter, r *http.Request) (size int64, ok bool) {
	if r.ContentLength < 0 { // unknown: the beginning shows whether it is small
		start, _ := readBody(w, io.LimitReader(r.Body, smallMessage+1), -1) // readRequestMessage gets the same error
		if len(start) <= smallMessage {
			r.ContentLength = int64(len(start))
		}
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(start), r.Body))
	}
	switch size = r.ContentLength; {
	case size < 0 || size > maxLargeBytes:
		size = maxLargeBytes
	case size <= smallMessage:
		return 0, true
	}
	ctx, cancel := context.WithTimeout(r.Context(), largeTimeout)
	defer cancel()
	return size, h.large.Acquire(ctx, size) == nil
}

// readRequestMessage reads a message within time and size limits. It answers the request if the message is invalid.
func readRequestMessage(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := readBody(w, http.MaxBytesReader(w, r.Body, maxMessage), r.ContentLength)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		writeError(w, http.StatusRequestEntityTooLarge, errTooLong.Error())
		return nil, false
	case err != nil:
		writeError(w, http.StatusBadRequest, "the message is incomplete")
		return nil, false
	case isBatchMessage(body):
		writeError(w, http.StatusBadRequest, errBatch.Error())
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, true
}

// readBody reads a request body within bodyTimeout. A known length is allocated at once; -1 means unknown.
func readBody(w http.ResponseWriter, r io.Reader, length int64) (body []byte, err error) {
	limitBodyTime(w)
	if length < 0 || length > maxMessage {
		return io.ReadAll(r)
	}
	body = make([]byte, length)
	_, err = io.ReadFull(r, body)
	return body, err
}

// limitBodyTime sets the deadline for the body. It also limits the time in which the HTTP server discards an unread
// body.
func limitBodyTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // tests use writers without deadlines
}

// writeRetryLater answers a request with the number of seconds after which the client may retry.
func writeRetryLater(w http.ResponseWriter, seconds, text string) {
	w.Header().Set("Retry-After", seconds)
	writeError(w, http.StatusServiceUnavailable, text)
}

// writeError answers a request with a JSON-RPC error.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(newErrorResponse(nil, jsonrpc.CodeInvalidRequest, text)) // ignore clients that have disconnected
}

// errorRewriter is a response writer that rewrites the SDK's plain-text errors to JSON-RPC errors, which clients show,
// and restores request ids.
type errorRewriter struct {
	http.ResponseWriter
	ids     requestIDPreserver
	request []byte // the message being answered
	isError bool   // the response is a plain-text error
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *errorRewriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader writes the response header. For a plain-text error it sets Content-Type to JSON.
func (w *errorRewriter) WriteHeader(status int) {
	w.isError = status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if w.isError {
		w.Header().Set("Content-Type", "application/json")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes the response. It rewrites the text of an error, and restores the request's id.
func (w *errorRewriter) Write(data []byte) (int, error) {
	out := data
	if w.isError {
		out = newErrorResponse(findMessageID(w.request), messageErrorCode(w.request), strings.TrimSpace(string(data)))
	}
	if _, err := w.ResponseWriter.Write(w.ids.restoreIDs(out)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// minSessionIdle is the time without requests after which a session may be ended to make room for a new one.
const minSessionIdle = time.Minute

// sessionActivity is the use of an HTTP session by its client.
type sessionActivity struct {
	requests int       // in progress, including streams that the client listens to
	last     time.Time // begin or end of the latest request
}

// addInFlightRequests adds n to a session's requests in progress. It ignores an empty id.
func (h *sessionLimiter) addInFlightRequests(id string, n int) {
	if id == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uses == nil || len(h.uses) > 2*h.maxSessions { // clients may send any id
		h.pruneEndedSessions()
	}
	h.uses[id] = sessionActivity{h.uses[id].requests + n, time.Now()}
}

// pruneEndedSessions forgets sessions that have ended. The caller holds mu.
func (h *sessionLimiter) pruneEndedSessions() {
	all := h.uses
	h.uses = make(map[string]sessionActivity)
	for s := range h.server.Sessions() {
		if use, ok := all[s.ID()]; ok {
			h.uses[s.ID()] = use
		}
	}
}

// reserveSession reserves room for a session or subscription, and reports whether there is room. If there is none, it
// ends the session that has been idle longest. The caller calls releaseReservation when the session exists or has
// failed, or the subscription has ended.
func (h *sessionLimiter) reserveSession() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reserved+h.server.CountHTTPSessions() >= h.maxSessions && !h.endIdleSession() {
		return false
	}
	h.reserved++
	return true
}

// endIdleSession ends the session that has been idle longest, and reports whether there was one. The caller holds mu.
func (h *sessionLimiter) endIdleSession() bool {
	var idle *mcp.ServerSession
	for s := range h.server.Sessions() {
		use, ok := h.uses[s.ID()]
		if ok && use.requests == 0 && time.Since(use.last) >= minSessionIdle &&
			(idle == nil || use.last.Before(h.uses[idle.ID()].last)) {
			idle = s
		}
	}
	if idle == nil {
		return false
	}
	h.server.clients.cancelSessionCalls(idle.ID()) // otherwise ending the session would wait for its calls
	_ = idle.Close()                               // the connection may be closed already
	return true
}

func (h *sessionLimiter) releaseReservation() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved--
}

// Limits of the requests in progress of all clients together: their number, and the bytes of their messages, which
// take several times as much memory. Small messages always pass, since other requests may depend on them.
const (
	maxRequests     = 1000
	maxRequestBytes = 4 * maxMessage
	smallMessage    = 64 << 10
)

var errOverloaded = errors.New("too many requests are in progress")

// requestLimiter limits the number and the bytes of the requests in progress.
type requestLimiter struct {
	mu              sync.Mutex
	requests, bytes int
}

// freeMemoryDelay is the time without calls after which the process returns free memory to the system.
const freeMemoryDelay = 3 * time.Second

// acquireSlot counts a request, or returns an error if there are too many. The caller calls releaseSlot at the end.
func (l *requestLimiter) acquireSlot(bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests >= maxRequests || bytes > smallMessage && l.bytes+bytes > maxRequestBytes {
		return fmt.Errorf("%w: %d requests of %d bytes; wait for their responses, then retry",
			errOverloaded, l.requests, l.bytes)
	}
	l.requests++
	l.bytes += bytes
	return nil
}

// releaseSlot frees the slot of a request.
func (l *requestLimiter) releaseSlot(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests--
	l.bytes -= bytes
}

// limitCalls is the middleware that applies the limits to tool calls.
func (l *requestLimiter) limitCalls(next mcp.MethodHandler) mcp.MethodHandler {
	idle := time.AfterFunc(freeMemoryDelay, debug.FreeOSMemory)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		size := len(call.Params.Arguments)
		if err := l.acquireSlot(size); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		defer l.releaseSlot(size)
		defer idle.Reset(freeMemoryDelay)
		return next(ctx, method, req)
	}
}
