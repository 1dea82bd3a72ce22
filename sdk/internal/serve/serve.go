// Package serve is what a plugin's process does with the plugin: it answers the wire's calls, and the command line of a
// person who starts it by hand. It must not know how authors write tools, nor how hosts decide.
package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// stopGrace is how long a plugin that lost its host may take to end what its calls have left running.
const stopGrace = 2 * time.Second

// serve answers a host until it is done with this process. Standard input carries the instance's credentials and then
// stays open for as long as the host lives: its end is the host's end, by whatever signal it died.
func serve(p Plugin) error {
	if err := forbidTracing(); err != nil {
		return fmt.Errorf("keep other processes out of this one's memory: %w", err)
	}
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	stdin := bufio.NewReader(os.Stdin)
	credentials, err := pluginpb.ReadCredentials(stdin)
	if err != nil {
		return err
	}
	logger := newLogger(os.Stderr, p.ID, true)
	s := newService(p, logger)
	s.stderr = os.Stderr
	go lifeline(stdin, s)

	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  pluginpb.Handshake(),
		VersionedPlugins: pluginpb.Versions(s),
		TLSProvider:      func() (*tls.Config, error) { return credentials.TLS() },
		GRPCServer:       newGRPCServer,
		Logger:           logger,
	})
	s.stop(context.Background())
	endDescendants(stopGrace)
	return nil
}

// lifeline ends the process when the host has gone, or when it is told to terminate.
func lifeline(stdin io.Reader, s *service) {
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // nothing more is sent; only the end counts
		close(gone)
	}()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	select {
	case <-gone:
	case <-terminate:
	}
	leave(s)
}

// leave ends what calls have left running, and the process.
func leave(s *service) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	s.stop(ctx)
	cancel()
	endDescendants(stopGrace)
	os.Exit(0)
}

func newGRPCServer(options []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(options,
		grpc.MaxRecvMsgSize(pluginpb.MaxMessageBytes),
		grpc.MaxSendMsgSize(pluginpb.MaxMessageBytes),
		grpc.InitialWindowSize(pluginpb.StreamWindowBytes),
		grpc.InitialConnWindowSize(pluginpb.ConnectionWindowBytes),
	)...)
}
