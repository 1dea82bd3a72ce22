package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	load   load

	mu       sync.Mutex
	starting int // requests that may become sessions
}

const sessionHeader = "Mcp-Session-Id"

func (h *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	worded := &wordedErrors{ResponseWriter: w}
	defer worded.finish()
	defer func() { h.server.tidy.Passed(int(r.ContentLength) + worded.sent) }()
	w = worded
	switch {
	case r.Method == http.MethodDelete && id != "":
		h.server.clients.cancel(id) // or ending the session would wait for its calls
	case r.Method == http.MethodPost:
		done, ok := h.admit(worded, r, id)
		if !ok {
			return
		}
		defer done()
	}
	h.next.ServeHTTP(w, r)
}

// admit reads a message, and says whether the library is to answer it. What is not is answered here; of what is, done tells
// of the end.
func (h *sessions) admit(w *wordedErrors, r *http.Request, id string) (done func(), ok bool) {
	size := maxFrame // where nobody says how long the message is
	if length := r.ContentLength; length >= 0 && length < maxFrame {
		size = int(length)
	}
	if err := h.load.take(size); err != nil {
		busy(w, "1", err.Error())
		return nil, false
	}
	begins := false
	done = func() {
		h.load.give(size)
		if begins {
			h.leave()
		}
	}
	defer func() {
		if !ok {
			done()
		}
	}()
	request, several, whole := readBody(w, r)
	if !whole {
		return done, false
	}
	h.load.correct(size, int(r.ContentLength))
	size = int(r.ContentLength)
	if wrong := h.premature(id, request); wrong != nil {
		respond(w, http.StatusOK, request, wrong)
		return done, false
	}
	if wrong := h.severalIn(id); several && wrong != nil {
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("not a JSON-RPC 2.0 message: %s", wrong))
		return done, false
	}
	if id == "" {
		if begins = h.enter(); !begins {
			busy(w, "60", fmt.Sprintf("all %d sessions are in use; end one with DELETE, or wait for one to be idle for long enough", h.most))
			return done, false
		}
	}
	w.request = request
	return done, true
}

// busy refuses what may be sent again after some seconds.
func busy(w http.ResponseWriter, seconds, text string) {
	w.Header().Set("Retry-After", seconds)
	refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternalError, text)
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

// readBody reads a message, or several, in its time and of its size, and answers for itself what is none. The request is nil
// where the message is no request that wants an answer, or one of several.
func readBody(w http.ResponseWriter, r *http.Request) (request *jsonrpc.Request, several, whole bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer without deadlines is a test's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFrame))
	_ = control.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message is longer than %d bytes; send less at a time", maxFrame))
		return nil, false, false
	case err != nil:
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "the message did not arrive whole")
		return nil, false, false
	}
	if several = isBatch(body); several {
		err = sound(body)
	} else {
		request, err = requestIn(body)
	}
	if err != nil {
		data := refusal(idOf(body), codeOf(body), fmt.Sprintf("not a JSON-RPC 2.0 message: %.200s", err))
		send(w, http.StatusBadRequest, data)
		return nil, false, false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return request, several, true
}

// requestIn is the request in a body that wants an answer, nil if there is none.
func requestIn(body []byte) (*jsonrpc.Request, error) {
	message, err := decode(bytes.TrimSpace(body))
	if err != nil {
		return nil, err
	}
	if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
		return r, nil
	}
	return nil, nil
}

// severalIn says why there are no batches in a session, nil if there are, or if the session is none, which the library says.
func (h *sessions) severalIn(id string) error {
	if id == "" {
		return noBatch("")
	}
	s := h.find(id)
	if s == nil {
		return nil
	}
	if p := s.InitializeParams(); p != nil && p.ProtocolVersion != batched {
		return noBatch(p.ProtocolVersion)
	}
	return nil
}

// premature says what is wrong with a request that the library would answer for it in words of its own, nil if nothing is.
func (h *sessions) premature(id string, request *jsonrpc.Request) *jsonrpc.Error {
	switch {
	case request == nil:
		return nil
	case id != "" && h.find(id) == nil:
		return nil // that is said first
	case id != "" && request.Method == "initialize":
		return begunTwice()
	case id == "" && request.Method != "initialize" && request.Method != "ping" && !sessionless(request.Params):
		return notBegun(request.Method)
	case slices.Contains(unserved(), request.Method) && !sessionless(request.Params):
		return noMethod(request.Method)
	}
	return unfit(request)
}

// find returns the session with an id, nil if there is none.
func (h *sessions) find(id string) *mcp.ServerSession {
	for s := range h.server.Sessions() {
		if s.ID() == id {
			return s
		}
	}
	return nil
}

// sessionless says whether parameters are of the newest protocol, in which each request says what others say once.
func sessionless(params json.RawMessage) bool {
	var with struct {
		Meta map[string]jsontext.Value `json:"_meta"`
	}
	err := jsonv2.Unmarshal(params, &with, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return err == nil && with.Meta[mcp.MetaKeyProtocolVersion] != nil
}

// refuse answers a request that is not passed on.
func refuse(w http.ResponseWriter, status int, code int64, text string) {
	send(w, status, refusal(nil, code, text))
}

// respond answers a request with an error; the request may be nil.
func respond(w http.ResponseWriter, status int, request *jsonrpc.Request, e *jsonrpc.Error) {
	var id json.RawMessage
	if request != nil {
		id, _ = json.Marshal(request.ID.Raw()) // it came out of JSON
	}
	send(w, status, refusal(id, e.Code, e.Message))
}

func send(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // whoever has gone does not need it
}
