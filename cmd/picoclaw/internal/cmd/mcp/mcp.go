// Package mcp has the command mcp, which serves tools, and its subcommands, which manage MCP servers.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
)

// Options are the options of `picoclaw mcp`.
type Options struct {
	*cli.Factory
	agent, socket string
	http          httpServeOptions
}

func NewCmdMCP(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "mcp",
		SuggestFor: []string{"serve", "server", "start"},
		Short:      "Serve an agent's tools over the Model Context Protocol",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.NoArguments(cmd, args); err != nil {
				return err
			}
			return o.http.checkAndCompleteOptions(cmd)
		},
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent to serve (default: the first one)")
	o.http.addFlags(cmd)
	cmd.Flags().StringVar(&o.socket, "connect", "", "join standard input and output with a session that is served at this `socket`")
	_ = cmd.Flags().MarkHidden("connect") // it is what programs that picoclaw starts are given
	cmd.AddCommand(NewCmdAdd(f, nil), NewCmdImport(f, nil), NewCmdList(f, nil), NewCmdShow(f, nil), NewCmdUpdate(f, nil),
		NewCmdGrant(f, false, nil), NewCmdGrant(f, true, nil), NewCmdTrust(f, nil), NewCmdRemove(f, nil), NewCmdLogin(f, nil), NewCmdLogout(f, nil))
	return cli.SetRunContext(cmd, o, (*Options).runMCP, runF)
}

func (o *Options) runMCP(ctx context.Context) error {
	if o.socket != "" {
		return bridgeToSocket(o.Factory, ctx, o.socket)
	}
	s, h, done, err := hosts.OpenSession(o.Factory, o.agent, session.MCP)
	if err != nil {
		return err
	}
	defer done()
	if err := h.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	server := mcp.NewServer(s, o.Version, mcp.ModelInstructions(s.Policy()))
	go server.FollowToolChanges(ctx, h.WatchPluginChanges(ctx.Done()))
	if o.http.address != "" {
		return serveHTTP(o.Factory, ctx, h.Host, server, s.Policy().AgentID(), o.http)
	}
	return serveStdio(o.Factory, ctx, server)
}

// drainTimeout limits the time of running calls after the input ended. Clients wait longer for a server to exit.
const drainTimeout = 1500 * time.Millisecond

// serveStdio serves the client that started this process, over standard input and output.
func serveStdio(f *cli.Factory, ctx context.Context, server *mcp.Server) error {
	err := server.ServeStreams(ctx, mcp.Streams{Reader: f.In, Writer: f.Out, DrainTimeout: drainTimeout,
		ReaderGone: func() bool { return isReaderGone(f.Out) }})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return cli.FailedError(fmt.Errorf("serve MCP: %w", err))
	}
	return nil
}

// bridgeToSocket connects standard input and output with the socket of a session in a running picoclaw. The client
// gets that session's tools and no others. No configuration is needed.
func bridgeToSocket(f *cli.Factory, ctx context.Context, path string) error {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(path), host.SocketTokenFile))
	if err != nil {
		return cli.StartError(fmt.Errorf("connect to the session that is served at %s: %w", path, err))
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		_, err = fmt.Fprintf(conn, "%s\n", token)
	}
	if err != nil {
		return cli.StartError(fmt.Errorf("connect to the session that is served at %s: %w", path, err))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, f.In) // an error here closes the connection's writing side, and the session ends
		_ = conn.CloseWrite()      // the session answers pending requests, then closes the connection
	}()
	_, err = io.Copy(f.Out, conn)
	_ = conn.Close()
	if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return cli.FailedError(fmt.Errorf("the session that is served at %s: %w", path, err))
	}
	return nil
}
