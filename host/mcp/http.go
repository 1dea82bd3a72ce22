package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of sessions over HTTP, where HTTPOptions do not say otherwise, and how long a client may take to send a
// message once its header is there.
const (
	DefaultSessions    = 32
	DefaultSessionIdle = 30 * time.Minute
	bodyTimeout        = 30 * time.Second
)

// HTTPOptions say who may use a server over HTTP, and how much.
type HTTPOptions struct {
	// Token is what every request has to carry as its bearer token. It must not be empty.
	Token string
	// Hosts are the names, without ports, that requests may be addressed to besides localhost and IP addresses. Whatever
	// else a request says it is for, such as a name that somebody has pointed to this address, is refused.
	Hosts []string
	// Sessions is how many sessions there may be at a time, SessionIdle how long one may go without a request; the
	// defaults if zero.
	Sessions    int
	SessionIdle time.Duration
}

// Handler serves the protocol's streamable HTTP transport: one session for each client that initializes, all with the
// tools of the one session that the server is for.
func (s *Server) Handler(o HTTPOptions) (http.Handler, error) {
	if o.Token == "" {
		return nil, errors.New("serving MCP over HTTP needs a token")
	}
	if o.Sessions == 0 {
		o.Sessions = DefaultSessions
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = DefaultSessionIdle
	}
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, &mcp.StreamableHTTPOptions{
		SessionTimeout:             o.SessionIdle,
		MaxRequestBodyBytes:        -1,   // it is read here
		DisableLocalhostProtection: true, // the gate is stricter, and not for localhost alone
	})
	return &gate{hosts: o.Hosts, token: o.Token, next: &sessions{server: s, most: o.Sessions, next: streamable}}, nil
}

// sessions bounds what one client can send, and how many there are.
type sessions struct {
	server *Server
	most   int
	next   http.Handler

	mu       sync.Mutex
	starting int // requests that may become sessions
}

const sessionHeader = "Mcp-Session-Id"

func (h *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	switch {
	case r.Method == http.MethodDelete && id != "":
		h.server.clients.cancel(id) // or ending the session would wait for its calls
	case r.Method == http.MethodPost:
		if !readBody(w, r) {
			return
		}
		if id == "" {
			if !h.enter() {
				w.Header().Set("Retry-After", "60")
				refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternalError, fmt.Sprintf(
					"all %d sessions are in use; end one with DELETE, or wait for one to be idle for long enough", h.most))
				return
			}
			defer h.leave()
		}
	}
	h.next.ServeHTTP(w, r)
}

// enter says whether there may be one more session.
func (h *sessions) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.starting
	for range h.server.Sessions() {
		n++
	}
	if n >= h.most {
		return false
	}
	h.starting++
	return true
}

func (h *sessions) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starting--
}

// readBody reads a message, in its time and of its size, and answers for itself what is none.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer without deadlines is a test's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFrame))
	_ = control.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message is longer than %d bytes; send less at a time", maxFrame))
	case err != nil:
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "the message did not arrive whole")
	default:
		if why, code := broken(body); why != "" {
			refuse(w, http.StatusBadRequest, code, why)
			return false
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return true
	}
	return false
}

// broken says what is wrong with a message that is none, and the protocol's code for it.
func broken(body []byte) (why string, code int64) {
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		if !json.Valid(body) {
			return "not a JSON-RPC 2.0 message: it is not JSON", jsonrpc.CodeParseError
		}
		return "", 0 // several messages, which old versions of the protocol had
	}
	if _, err := jsonrpc.DecodeMessage(body); err != nil {
		return fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err), codeOf(body)
	}
	return "", 0
}

// refuse answers a request that is not passed on.
func refuse(w http.ResponseWriter, status int, code int64, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(refusal(nil, code, text)) // whoever has gone does not need it
}
