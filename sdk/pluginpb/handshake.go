package pluginpb

import "github.com/hashicorp/go-plugin"

// ProtocolVersion is the version of the wire that this package speaks: the integer that go-plugin negotiates. It
// rises when plugin.proto changes in a way that an older peer would misread.
const ProtocolVersion = 1

// ServiceName is the name under which the service is dispensed by go-plugin.
const ServiceName = "picoclaw"

// MaxMessageBytes is the largest gRPC message that either side takes. It is above the largest file that a tool will
// carry whole, and bounds what a hostile peer can make the other allocate.
const MaxMessageBytes = 64 << 20

// Flow-control windows in bytes, per stream and per connection. Set on both sides they let a megabyte pass without
// waiting for updates, and switch off gRPC's bandwidth estimation with its extra pings.
const (
	StreamWindowBytes     = 1 << 20
	ConnectionWindowBytes = 4 << 20
)

// Handshake returns what host and plugin tell each other before anything else. The cookie is no secret: it only keeps
// a person from running a plugin by mistake.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "PICOCLAW_PLUGIN",
		MagicCookieValue: "a picoclaw host started this",
	}
}
