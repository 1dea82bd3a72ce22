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

// stopGrace is the time for running work to end after the host is gone.
const stopGrace = 2 * time.Second

// serveHost serves a host. Standard input has the instance's credentials and stays open while the host lives; its end
// means that the host has died.
func serveHost(p Plugin) error {
	if err := disableTracing(); err != nil {
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
	go watchHost(stdin, s)

	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  pluginpb.Handshake(),
		VersionedPlugins: pluginpb.Versions(s),
		TLSProvider:      func() (*tls.Config, error) { return credentials.TLS() },
		GRPCServer:       newGRPCServer,
		Logger:           logger,
	})
	s.stopOnce(context.Background())
	killDescendants(stopGrace)
	return nil
}

// watchHost ends the process when the host is gone, or on a termination signal.
func watchHost(stdin io.Reader, s *service) {
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
	exitProcess(s)
}

// exitProcess ends running work and the process.
func exitProcess(s *service) {
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
