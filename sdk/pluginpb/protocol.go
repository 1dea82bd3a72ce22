// Package pluginpb is the wire between a host and a plugin: the gRPC service (plugin.proto and the code generated
// from it), the handshake, the secret that both ends prove to hold, and the manifest that both read.
//
// It is for whoever writes a host or an SDK. Plugin authors use package sdk instead and never see it. It must not
// know how tools are written, how processes are started or what a policy decides.
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
// Arguments are read strictly, once, and written anew from the values that were read.
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

// ProtocolVersion is the version of the wire that this package speaks: the integer that go-plugin negotiates. It
// rises when plugin.proto changes in a way that an older peer would misread.
const ProtocolVersion = 2

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

// Versions returns the plugin set for go-plugin. A plugin passes its server; a host passes nil and gets a
// [PluginClient] for [ServiceName].
func Versions(server PluginServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		ProtocolVersion: {ServiceName: &grpcPlugin{server: server}},
	}
}

// grpcPlugin adapts the service to go-plugin.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server PluginServer
}

var _ plugin.GRPCPlugin = (*grpcPlugin)(nil)

func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.server == nil {
		return errors.New("a host has no plugin service to serve")
	}
	RegisterPluginServer(s, p.server)
	return nil
}

func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewPluginClient(conn), nil
}

// AgentText returns a result's texts for an agent, each on separate lines.
func (r *Result) AgentText() string {
	if len(r.GetContent()) == 0 {
		return r.leadingText()
	}
	var texts []string
	for _, b := range r.Blocks() {
		if b.GetText() != "" {
			texts = append(texts, b.GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// Blocks returns all content in order; nil if there is only text.
func (r *Result) Blocks() []*Content {
	text := r.leadingText()
	if len(r.GetContent()) == 0 || text == "" {
		return r.GetContent()
	}
	return append([]*Content{{Text: text}}, r.GetContent()...)
}

// leadingText returns the text before all content.
func (r *Result) leadingText() string {
	if r.GetTextIsStructured() {
		return string(r.GetStructured())
	}
	return r.GetText()
}

// The codes of errors that programs tell apart. A tool may use others of its own.
const (
	CodeInvalidArgument = "invalid_argument" // the call has to be made differently
	CodeUnknownTool     = "unknown_tool"     // there is no such tool, or not for this agent
	CodeNotFound        = "not_found"        // what was named does not exist
	CodeAccessDenied    = "access_denied"    // the policy or the operating system refused
	CodeConflict        = "conflict"         // what was named is not in the state that the call expects
	CodeTooLarge        = "too_large"        // over a limit
	CodeTimeout         = "timeout"          // out of time
	CodeCancelled       = "cancelled"        // the caller gave up
	CodeNobodyToAsk     = "nobody_to_ask"    // there is no person to put a question to
	CodeWithdrawn       = "withdrawn"        // the tool is not what its manifest says, and not offered any more
	CodeStopped         = "stopped"          // the operator has stopped the agent
	CodeFailed          = "failed"           // anything else
	CodePanic           = "panic"            // the tool's code crashed; its plugin goes on
	CodeUnavailable     = "unavailable"      // the plugin could not be started, or ended during the call
)

// Kinds of questions other than forms.
const (
	SamplingQuestion = "sampling" // a request to the client's model
	RootsQuestion    = "roots"    // the client's directories
)
