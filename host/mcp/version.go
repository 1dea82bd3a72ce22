package mcp

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The versions of the protocol from which on something is done in another way.
const (
	structuredSince = "2025-06-18" // results have structured content, and messages no longer come in batches
	inRounds        = "2026-07-28" // there is no initialize: each request says what others say once
)

// settle makes a session go on in the version that its client is told in answer to initialize. The library keeps the one
// that was asked for, goes by it ever after, and so speaks a version that nobody has agreed to with a client whose own it
// does not know.
func settle(p *mcp.InitializeParams) {
	if p != nil {
		p.ProtocolVersion = agreed(p.ProtocolVersion)
	}
}

// agreed is the version that a client is told: the one that it asks for, or the newest that initialize can begin.
func agreed(asked string) string {
	known := mcp.SupportedProtocolVersions() // the newest first
	if asked < inRounds && slices.Contains(known, asked) {
		return asked
	}
	for _, version := range known {
		if version < inRounds {
			return version
		}
	}
	return asked
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
