package mcp

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
