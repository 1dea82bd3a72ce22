package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/pidfile"
	"github.com/picoclaw/picoclaw/host/session"
)

// httpServeOptions are the options of serving MCP over HTTP.
type httpServeOptions struct {
	address   string // host:port; empty for standard input and output
	remote    bool
	tokenFile string
	hosts     []string
}

func (o *httpServeOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.address, "http", "", "serve over HTTP at this `address`, such as 127.0.0.1:8765")
	flags.BoolVar(&o.remote, "allow-remote", false, "with --http: listen on an address that other machines can reach")
	flags.StringVar(&o.tokenFile, "token-file", "",
		"with --http: token `file` (default: mcp-token in the home)")
	flags.StringSliceVar(&o.hosts, "allow-host", nil,
		"with --http: additional host `name` of this machine")
}

// checkAndCompleteOptions checks the options and completes the address.
func (o *httpServeOptions) checkAndCompleteOptions(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("http") {
		for _, name := range []string{"allow-remote", "token-file", "allow-host"} {
			if cmd.Flags().Changed(name) {
				return cli.UsageErrorf("--%s requires --http ADDRESS", name)
			}
		}
		return nil
	}
	if strings.HasPrefix(o.address, "unix:") || strings.Contains(o.address, "/") {
		return cli.UsageErrorf("--http %s: want an address with a port, such as 127.0.0.1:8765, neither a URL nor a socket's path",
			o.address)
	}
	name, port, err := net.SplitHostPort(o.address)
	if err != nil {
		return cli.UsageErrorf("--http %q: want an address with a port, such as 127.0.0.1:8765", o.address)
	}
	if name == "" || name == "localhost" {
		name = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(name); (err != nil || !ip.IsLoopback()) && !o.remote {
		return cli.UsageErrorf("--http %s: other machines can reach this address, and traffic is not encrypted; "+
			"serve on 127.0.0.1, behind a tunnel or a proxy with TLS, or use --allow-remote", o.address)
	} else if err != nil {
		o.hosts = append(o.hosts, name)
	}
	o.address = net.JoinHostPort(name, port)
	return nil
}

// serveHTTP serves an agent until ctx is done, as the only daemon of the home.
func serveHTTP(f *cli.Factory, ctx context.Context, h *session.Host, server *mcp.Server, agent string, o httpServeOptions) (err error) {
	home := h.Config().Home()
	if home.Fallback {
		return cli.StartError(errors.New("HTTP needs a home for the token; set PICOCLAW_HOME to a directory"))
	}
	if err = os.MkdirAll(home.Path, 0o700); err != nil {
		return cli.StartError(err)
	}
	listener, listenErr := net.Listen("tcp", o.address)
	url := "http://" + o.address + mcp.Path
	if listenErr == nil {
		defer func() { _ = listener.Close() }()
		url = "http://" + listener.Addr().String() + mcp.Path
	}
	// Whoever has the address is most likely the daemon that has the instance root: that says more.
	pid, err := pidfile.AcquirePidFile(home.Path, pidfile.DaemonInfo{Address: url, Version: f.Version})
	if err != nil {
		return cli.StartError(err)
	}
	defer func() { err = errors.Join(err, pid.Close()) }()
	if listenErr != nil {
		return cli.StartError(fmt.Errorf("serve MCP over HTTP: %w", listenErr))
	}
	file, readToken := o.tokenFile, func() (string, error) { return hosts.ReadToken(o.tokenFile) }
	if file == "" {
		file = filepath.Join(home.Path, "mcp-token")
		readToken = func() (string, error) { return hosts.ReadOrCreateToken(home.Path, "mcp-token") }
	}
	token, err := readToken()
	if err != nil {
		return cli.StartError(err)
	}
	if err = server.PersistQuestionStates(home.Path, agent); err != nil {
		return cli.StartError(err)
	}
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: token, ReadToken: readToken, Hosts: o.hosts})
	if err != nil {
		return cli.StartError(err)
	}
	logger, err := f.NewLogger(h.Config())
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Err, "serving MCP at %s; clients send the token in %s as bearer token\n", url, file)
	return serveUntilDone(ctx, listener, server, handler, logger.Named("http"))
}

// serveUntilDone serves HTTP until ctx is done. Then it ends calls and sessions.
func serveUntilDone(ctx context.Context, listener net.Listener, server *mcp.Server, handler http.Handler,
	logger hclog.Logger) error {
	web := gateway.NewHTTPServer(handler, logger)
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return cli.FailedError(fmt.Errorf("serve MCP over HTTP: %w", err))
	case <-ctx.Done():
	}
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hosts.CloseTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- web.Shutdown(shutdownCtx) }() // takes nobody new, and waits for the answers under way
	server.EndAllSessions(shutdownCtx)
	if err := <-stopped; err != nil {
		_ = web.Close() // they have had their time
	}
	return nil
}
