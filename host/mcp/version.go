package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Protocol versions that introduced changes:
const (
	structuredSince = "2025-06-18" // structured content in results
	statelessSince  = "2026-07-28" // no initialize; questions are answered by repeating the call
)

// negotiateVersion is middleware that makes a session use the protocol version in the response to initialize. The SDK
// would use the requested version, even an unsupported one.
func negotiateVersion(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if req, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok && req.Params != nil {
			req.Params.ProtocolVersion = chooseProtocolVersion(req.Params.ProtocolVersion)
		}
		return next(ctx, method, req)
	}
}

// chooseProtocolVersion returns the requested version if initialize supports it; otherwise the newest supported one.
func chooseProtocolVersion(asked string) string {
	known := mcp.SupportedProtocolVersions() // the newest first
	old := known[slices.IndexFunc(known, func(v string) bool { return v < statelessSince }):]
	if slices.Contains(old, asked) {
		return asked
	}
	return old[0]
}

// callProtocolVersion returns the protocol version of a call: its own in stateless versions, otherwise the session's.
func callProtocolVersion(req *mcp.CallToolRequest) string {
	if own := req.ProtocolVersion(); own >= statelessSince {
		return own
	}
	if p := req.Session.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return statelessSince
}

// versionHeader is the HTTP header with the protocol version of a request.
const versionHeader = "Mcp-Protocol-Version"

// isStatelessRequest reports whether the header or the message of an HTTP request has a stateless protocol version. The
// SDK refuses the request if they differ.
func isStatelessRequest(r *http.Request, message []byte) bool {
	if r.Header.Get(versionHeader) >= statelessSince {
		return true
	}
	if !bytes.Contains(message, []byte(mcp.MetaKeyProtocolVersion)) {
		return false // most requests of older clients
	}
	version, _ := parseEnvelope(message).Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return version >= statelessSince
}

// needsSessionSlot reports whether an HTTP request needs room for a session: it may create one, or is a subscription.
func needsSessionSlot(r *http.Request, message []byte) bool {
	if isStatelessRequest(r, message) {
		return parseEnvelope(message).Method == "subscriptions/listen"
	}
	return r.Header.Get(sessionHeader) == ""
}

// messageEnvelope contains the fields of a message that route it.
type messageEnvelope struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// parseEnvelope parses the envelope of a message. For an invalid message it returns the fields before the error.
func parseEnvelope(message []byte) (e messageEnvelope) {
	_ = jsonv2.Unmarshal(message, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // the SDK refuses it
	return e
}

// declaresRoots reports whether a stateless client declares roots. Without a session, the server can't ask for the
// roots, and the client would get the whole workspace. Such a client is told to use a version with sessions.
func (e messageEnvelope) declaresRoots() bool {
	capabilities, _ := e.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	return capabilities["roots"] != nil
}

// refuseStatelessClient answers a request with the error that the client must use a protocol version with sessions.
func refuseStatelessClient(w http.ResponseWriter, id jsontext.Value) {
	old := slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v >= statelessSince })
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(newErrorResponse(json.RawMessage(id), mcp.CodeUnsupportedProtocolVersion,
		"clients with roots need a version with sessions; use one, or declare no roots",
		mcp.UnsupportedProtocolVersionData{Supported: old, Requested: statelessSince}))
}

// hasSingleCallSession reports whether the SDK created the session for this call only: a stateless one over HTTP.
func hasSingleCallSession(req *mcp.CallToolRequest) bool {
	return req.Extra != nil && req.Extra.Header != nil && req.Session.ID() == ""
}
