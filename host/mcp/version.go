package mcp

import (
	"bytes"
	"context"
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

// negotiateVersion is middleware that sets a session's protocol version to the one in the response to initialize. The
// SDK would keep the requested version, even an unsupported one.
func negotiateVersion(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if req, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok && req.Params != nil {
			req.Params.ProtocolVersion = supportedVersion(req.Params.ProtocolVersion)
		}
		return next(ctx, method, req)
	}
}

// supportedVersion returns the requested version if initialize supports it, else the newest that it supports.
func supportedVersion(asked string) string {
	known := mcp.SupportedProtocolVersions() // the newest first
	old := known[slices.IndexFunc(known, func(v string) bool { return v < statelessSince }):]
	if slices.Contains(old, asked) {
		return asked
	}
	return old[0]
}

// callVersion returns the protocol version of a call: its own in stateless versions, or its session's.
func callVersion(req *mcp.CallToolRequest) string {
	if own := req.ProtocolVersion(); own >= statelessSince {
		return own
	}
	if p := req.Session.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return statelessSince
}

// versionHeader is MCP's header with the protocol version of a request.
const versionHeader = "Mcp-Protocol-Version"

// isStatelessRequest reports whether an HTTP request has a stateless protocol version in its header or its message. If
// they differ, the SDK refuses the request.
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

// needsSession reports whether an HTTP request may create a session, or is a subscription, which lasts as long as one.
func needsSession(r *http.Request, message []byte) bool {
	if isStatelessRequest(r, message) {
		return parseEnvelope(message).Method == "subscriptions/listen"
	}
	return r.Header.Get(sessionHeader) == ""
}

// messageEnvelope is the part of a message that is needed to route it.
type messageEnvelope struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// parseEnvelope parses a message's envelope; of an invalid message, it returns the part before the error.
func parseEnvelope(message []byte) (e messageEnvelope) {
	_ = jsonv2.Unmarshal(message, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // the SDK refuses it
	return e
}

// declaresRoots reports whether a stateless message is of a client with roots. They can't be asked for without a
// session, so such a client is told to use one when it asks for the server's versions; else it would get the whole
// workspace.
func (e messageEnvelope) declaresRoots() bool {
	capabilities, _ := e.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	return capabilities["roots"] != nil
}

// refuseStatelessClient tells a client to use a version with sessions.
func refuseStatelessClient(w http.ResponseWriter, id jsontext.Value) {
	known := mcp.SupportedProtocolVersions()
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	text, err := jsonv2.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code":    mcp.CodeUnsupportedProtocolVersion,
		"message": "clients with roots need a version with sessions; use one, or declare no roots",
		"data": mcp.UnsupportedProtocolVersionData{
			Supported: slices.DeleteFunc(known, func(v string) bool { return v >= statelessSince }), Requested: statelessSince},
	}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text)
}

// hasSingleCallSession reports whether the SDK created a call's session only for this call: a stateless one over HTTP.
func hasSingleCallSession(req *mcp.CallToolRequest) bool {
	return req.Extra != nil && req.Extra.Header != nil && req.Session.ID() == ""
}
