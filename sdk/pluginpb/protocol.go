// Package pluginpb is the wire between a host and a plugin: the gRPC service (plugin.proto and the code generated
// from it), the handshake, the secret that both ends prove to hold, and the manifest that both read.
//
// It is for authors of hosts and SDKs. Plugin authors use package sdk instead. The package must not know how tools are
// written, how processes are started or how a policy decides.
//
// # The secret
//
// Each instance gets mutual TLS 1.3 with keys of its own, made by the host. The keys travel through standard input, not
// through environment or handshake line, so no third process can read or replace them. They are P-256, which starts
// faster than go-plugin's P-521; for the key exchange P-256 is offered besides X25519, because gRPC's C core knows no
// other.
//
// # Arguments
//
// Arguments are parsed strictly, once, and encoded again from the parsed values.
//
// A claim marks an input field as a path or a command. The claims cwd, env and stdin stand beside a command and are
// decided with it: a shell that is given a script to read is decided as the script is.
package pluginpb

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of the plugin protocol, which go-plugin negotiates. It increases if an older peer
// would misread a change of plugin.proto.
const ProtocolVersion = 2

// ServiceName is the name of the service in go-plugin.
const ServiceName = "picoclaw"

// MaxMessageBytes is the maximum size of a gRPC message. It exceeds the largest file that a tool transfers whole, and
// limits the memory that a hostile peer can make the other allocate.
const MaxMessageBytes = 64 << 20

// Flow-control windows in bytes, per stream and per connection. With them on both sides, a megabyte passes without
// waiting for updates. They also disable gRPC's bandwidth estimation with its extra pings.
const (
	StreamWindowBytes     = 1 << 20
	ConnectionWindowBytes = 4 << 20
)

// HandshakeConfig returns go-plugin's handshake configuration. The cookie is no secret: it only prevents a person from
// running a plugin by mistake.
func HandshakeConfig() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "PICOCLAW_PLUGIN",
		MagicCookieValue: "a picoclaw host started this",
	}
}

// PluginSets returns the plugin set of each protocol version for go-plugin. A plugin passes its server. A host passes
// nil and gets a [PluginClient] for [ServiceName].
func PluginSets(server PluginServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		ProtocolVersion: {ServiceName: &goPluginAdapter{server: server}},
	}
}

// goPluginAdapter implements go-plugin's interface for the gRPC service.
type goPluginAdapter struct {
	plugin.NetRPCUnsupportedPlugin
	server PluginServer
}

var _ plugin.GRPCPlugin = (*goPluginAdapter)(nil)

func (p *goPluginAdapter) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.server == nil {
		return errors.New("a host has no plugin service to serve")
	}
	RegisterPluginServer(s, p.server)
	return nil
}

func (p *goPluginAdapter) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewPluginClient(conn), nil
}

// AgentText returns all texts of a result for the agent, separated by newlines.
func (r *Result) AgentText() string {
	if len(r.GetContent()) == 0 {
		return r.leadingText()
	}
	var texts []string
	for _, b := range r.ContentBlocks() {
		if b.GetText() != "" {
			texts = append(texts, b.GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// ContentBlocks returns all content blocks of a result in order. It returns nil if there is only text.
func (r *Result) ContentBlocks() []*Content {
	text := r.leadingText()
	if len(r.GetContent()) == 0 || text == "" {
		return r.GetContent()
	}
	return append([]*Content{{Text: text}}, r.GetContent()...)
}

// leadingText returns the text that precedes all content blocks.
func (r *Result) leadingText() string {
	if r.GetTextIsStructured() {
		return string(r.GetStructured())
	}
	return r.GetText()
}

// Error codes for programs. A tool may use its own codes, too.
const (
	CodeInvalidArgument = "invalid_argument" // the call must be changed
	CodeUnknownTool     = "unknown_tool"     // the tool does not exist, or not for this agent
	CodeNotFound        = "not_found"        // a file or object does not exist
	CodeAccessDenied    = "access_denied"    // the policy or the operating system refused
	CodeConflict        = "conflict"         // a file or object is in an unexpected state
	CodeTooLarge        = "too_large"        // over a limit
	CodeTimeout         = "timeout"          // out of time
	CodeCancelled       = "cancelled"        // the caller gave up
	CodeNobodyToAsk     = "nobody_to_ask"    // no person can answer a question
	CodeWithdrawn       = "withdrawn"        // the tool differs from its manifest and is no longer offered
	CodeStopped         = "stopped"          // the operator has stopped the agent
	CodeFailed          = "failed"           // anything else
	CodePanic           = "panic"            // the tool's code crashed; its plugin still runs
	CodeUnavailable     = "unavailable"      // the plugin could not be started, or ended during the call
)

// Kinds of questions besides forms.
const (
	SamplingQuestion = "sampling" // a request to the client's model
	RootsQuestion    = "roots"    // the client's directories
)
