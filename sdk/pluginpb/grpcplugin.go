package pluginpb

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Versions returns the versioned plugin set that go-plugin wants. A plugin gives its server; a host gives nil and is
// handed a [PluginClient] when it dispenses [ServiceName].
func Versions(server PluginServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		ProtocolVersion: {ServiceName: &grpcPlugin{server: server}},
	}
}

// grpcPlugin is go-plugin's adapter between a gRPC connection and the service.
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
