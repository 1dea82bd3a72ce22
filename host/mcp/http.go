package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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

// HTTPOptions are who may use a server over HTTP, and how much.
type HTTPOptions struct {
	// Token is what every request has to carry as its bearer token. It must not be empty.
	Token string
	// Hosts are the names, without ports, that requests may be addressed to besides localhost and IP addresses.
	// Whatever else a request says it is for, such as a name that somebody has pointed to this address, is refused.
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
	get := func(*http.Request) *mcp.Server { return s.Server }
	streamable := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout:             o.SessionIdle,
		MaxRequestBodyBytes:        -1,   // it is read here
		DisableLocalhostProtection: true, // the gate is stricter, and not for localhost alone
	})
	return &gate{hosts: o.Hosts, token: o.Token, next: &sessions{server: s, most: o.Sessions, next: streamable}}, nil
}

// sessions bounds what clients can send, and how many sessions there are.
type sessions struct {
	server *Server
	most   int
	next   http.Handler
	load   load

	mu       sync.Mutex
	starting int // requests that may become sessions
}

const sessionHeader = "Mcp-Session-Id"

func (h *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	answer := &answerWriter{ResponseWriter: w}
	switch {
	case r.Method == http.MethodDelete && id != "":
		h.server.clients.cancel(id) // or ending the session would wait for its calls
	case r.Method == http.MethodPost:
		done, ok := h.admit(answer, r, id)
		if !ok {
			return
		}
		defer done()
	}
	h.next.ServeHTTP(answer, r)
}

// admit reads a message, and reports whether the SDK is to answer it; then done is to be called at the end. What is
// not is answered here.
func (h *sessions) admit(w *answerWriter, r *http.Request, id string) (done func(), ok bool) {
	size := maxFrame // where nobody says how long the message is
	if length := r.ContentLength; length >= 0 && length < maxFrame {
		size = int(length)
	}
	if err := h.load.take(size); err != nil {
		busy(w, "1", err.Error())
		return nil, false
	}
	body, whole := readBody(w, r)
	if !whole {
		h.load.give(size)
		return nil, false
	}
	length := len(body)
	h.load.correct(size, length)
	w.message, r.Body, r.ContentLength = body, io.NopCloser(bytes.NewReader(body)), int64(length)
	if id != "" {
		return func() { h.load.give(length) }, true
	}
	if !h.enter() {
		h.load.give(length)
		busy(w, "60", fmt.Sprintf(
			"all %d sessions are in use; end one with DELETE, or wait for one to be idle for long enough", h.most))
		return nil, false
	}
	return func() { h.leave(); h.load.give(length) }, true
}

// readBody reads a message in its time and of its size, and answers for itself what is none.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, whole bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer without deadlines is a test's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFrame))
	_ = control.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		refuse(w, http.StatusRequestEntityTooLarge, errTooLong.Error())
		return nil, false
	case err != nil:
		refuse(w, http.StatusBadRequest, "the message did not arrive whole")
		return nil, false
	case isBatch(body):
		refuse(w, http.StatusBadRequest, errBatch.Error())
		return nil, false
	}
	return body, true
}

// enter reports whether there may be one more session. If so, leave is to be called when it is there, or has not come
// to be.
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

// busy refuses what may be sent again after some seconds.
func busy(w http.ResponseWriter, seconds, text string) {
	w.Header().Set("Retry-After", seconds)
	refuse(w, http.StatusServiceUnavailable, text)
}

// refuse answers a request that is not passed on.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(refusal(nil, jsonrpc.CodeInvalidRequest, text)) // whoever has gone does not need it
}

// answerWriter makes JSON-RPC errors of the plain text in which the SDK refuses requests: a client that reads answers
// reads those, too. All else passes as it is.
type answerWriter struct {
	http.ResponseWriter
	message []byte // that is answered
	plain   bool   // it is such a refusal
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader tells refusals from all else.
func (w *answerWriter) WriteHeader(status int) {
	w.plain = status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	if w.plain {
		w.Header().Set("Content-Type", "application/json")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write takes the text of a refusal as a whole.
func (w *answerWriter) Write(data []byte) (int, error) {
	out := data
	if w.plain {
		out = refusal(idIn(w.message), codeOf(w.message), strings.TrimSpace(string(data)))
	}
	n, err := w.ResponseWriter.Write(out)
	return min(n, len(data)), err
}
