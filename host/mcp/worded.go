package mcp

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// wordedErrors makes JSON-RPC errors of the plain text in which the library refuses requests, with the id of the request:
// a client that reads answers reads those, too. All else passes as it is.
type wordedErrors struct {
	http.ResponseWriter

	request *jsonrpc.Request // nil if it is none
	status  int              // of a refusal; 0 for all else
	text    bytes.Buffer
	sent    int // bytes of all else
}

// Unwrap is for [http.ResponseController].
func (w *wordedErrors) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader keeps a refusal back.
func (w *wordedErrors) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write keeps the text of a refusal.
func (w *wordedErrors) Write(data []byte) (int, error) {
	if w.status != 0 {
		return w.text.Write(data)
	}
	w.sent += len(data)
	return w.ResponseWriter.Write(data)
}

// finish sends the refusal that was kept, if there is one.
func (w *wordedErrors) finish() {
	if w.status == 0 {
		return
	}
	text := strings.TrimPrefix(strings.TrimSpace(w.text.String()), "Bad Request: ")
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
	switch {
	case w.status == http.StatusNotFound:
		e.Message = "there is no such session, or it has ended; send initialize without Mcp-Session-Id to begin one"
	case w.status == http.StatusMethodNotAllowed:
		e.Message = "requests of HTTP are POST for messages, GET to listen, and DELETE to end a session"
	case w.request != nil && strings.HasSuffix(text, "unsupported"):
		e, w.status = noMethod(w.request.Method), http.StatusOK
	case w.request != nil && strings.Contains(text, "unexpected id"):
		e.Message = w.request.Method + " is a notification, and has no id"
	case strings.Contains(text, "nesting depth"):
		e.Message = "not a JSON-RPC 2.0 message: it is nested deeper than 1000 levels; send what is flatter"
	case strings.Contains(text, "missing id"):
		e.Message = "a request needs an id; only notifications have none"
	}
	w.Header().Del("X-Content-Type-Options")
	respond(w.ResponseWriter, w.status, w.request, e)
}
