// Package serve implements a plugin's process: it serves calls from the host, and the command line for people. It must
// not know how authors write tools, nor how hosts decide.
package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/picoclaw/picoclaw/internal/suggest"
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

// usageError is the error for a wrong command line.
type usageError struct{ error }

// RunMain is a plugin's main function with explicit inputs. It returns the exit code: 0, 1 for a failure, 2 for a wrong
// command line. Started by a host, it serves the host. Otherwise it has these commands:
//
//	describe                             print the manifest (plugin.json)
//	call TOOL [JSON] [--config JSON]     run one tool in the current directory, without a host
func RunMain(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := runCommand(p, args, stdin, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.ID, err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

func runCommand(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		if os.Getenv(pluginpb.HandshakeConfig().MagicCookieKey) != "" {
			return serveHost(p)
		}
		printHelp(stderr, p)
		return usageError{errors.New("use describe, or call TOOL")}
	}
	switch command := args[0]; command {
	case "describe":
		if len(args) > 1 {
			return usageError{fmt.Errorf("describe takes no argument %q", args[1])}
		}
		return printManifest(stdout, p)
	case "call":
		return runCallCommand(p, args[1:], stdin, stdout, stderr)
	case "help", "-h", "-help", "--help":
		printHelp(stdout, p)
		return nil
	default:
		return usageError{fmt.Errorf("unknown command %q%s; `%s --help` lists commands",
			command, suggest.DidYouMean(command, []string{"describe", "call", "help"}), p.ID)}
	}
}

// printHelp prints the usage of a plugin's binary.
func printHelp(w io.Writer, p Plugin) {
	fmt.Fprintf(w, "%s %s is a picoclaw plugin: %s\n\nIt is started by picoclaw. By itself it understands:\n"+
		"  describe                           print the manifest that goes beside it as %s\n"+
		"  call TOOL [JSON] [--config JSON]   run one tool in the current directory; \"-\" reads JSON from standard input\n"+
		"  call TOOL --help                   show a tool's arguments\n\nIts tools:\n", p.ID, p.Version, p.Doc,
		pluginpb.ManifestFile)
	for _, t := range p.Tools {
		fmt.Fprintf(w, "  %-18s %s\n", t.spec.Name, firstLine(t.spec.Doc))
	}
}

func printManifest(w io.Writer, p Plugin) error {
	m, err := NewManifest(p)
	if err != nil {
		return fmt.Errorf("this plugin can't be used: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(m)
}
