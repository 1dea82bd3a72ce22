// Package serve implements a plugin's process: it serves calls from the host, and the command line for people. It must
// not know how authors write tools, nor how hosts decide.
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

// stopGrace is the time that running work gets to end after the host is gone.
const stopGrace = 2 * time.Second

// serveHost serves a host until it ends. Standard input contains the credentials and stays open while the host lives.
func serveHost(p Plugin) error {
	if err := disablePtrace(); err != nil {
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
	go exitWithHost(stdin, s)

	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  pluginpb.HandshakeConfig(),
		VersionedPlugins: pluginpb.PluginSets(s),
		TLSProvider:      func() (*tls.Config, error) { return credentials.ServerTLSConfig() },
		GRPCServer:       newGRPCServer,
		Logger:           logger,
	})
	s.stopOnce(context.Background())
	killDescendants(stopGrace)
	return nil
}

// exitWithHost ends the process when the host is gone or a termination signal arrives.
func exitWithHost(stdin io.Reader, s *pluginService) {
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
	stopAndExit(s)
}

// stopAndExit stops running work and exits.
func stopAndExit(s *pluginService) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	s.stopOnce(ctx)
	cancel()
	killDescendants(stopGrace)
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
