package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
)

// mcpOptions are the options of `picoclaw mcp`.
type mcpOptions struct {
	*app

	agent, socket string
	over          httpOptions
}

func newMCP(a *app, runF func(*mcpOptions) error) *cobra.Command {
	o := &mcpOptions{app: a}

	cmd := &cobra.Command{
		Use:        "mcp",
		SuggestFor: []string{"serve", "server", "start"},
		Short:      "Serve an agent's tools over the Model Context Protocol",
		Long: `Serves an agent's tools to an MCP client that starts this command: requests come on standard input, answers go to
standard output, logs to standard error. ` + "`picoclaw init`" + ` tells clients of it.

With --http it serves the protocol's streamable HTTP transport instead, until it is told to stop. Clients on this machine
reach it, and have to send its token as their bearer token. The token is made once and kept where only its owner can read
it, in mcp-token below the instance root; --token-file names another file. One such server runs on an instance root.`,
		Example: strings.Trim(`
  picoclaw mcp
  picoclaw mcp --agent reader --workspace ~/projects/site
  claude mcp add picoclaw -- picoclaw mcp
  picoclaw mcp --http 127.0.0.1:8765`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	a.agentFlag(cmd, &o.agent, "the agent to serve (default: the first one)")
	o.over.flags(cmd)
	cmd.Flags().StringVar(&o.socket, "connect", "", "join standard input and output with a session that is served at this `socket`")
	_ = cmd.Flags().MarkHidden("connect") // it is what programs that picoclaw starts are given
	cmd.AddCommand(newMCPAdd(a, nil), newMCPImport(a, nil), newMCPList(a, nil), newMCPShow(a, nil), newMCPUpdate(a, nil), newMCPTrust(a, nil),
		newMCPRemove(a, nil))
	return newCommand(cmd, o, runF)
}

func (o *mcpOptions) run(cmd *cobra.Command) error {
	if err := o.over.check(cmd); err != nil {
		return err
	}
	if o.socket != "" {
		return o.connect(cmd.Context(), o.socket)
	}
	s, h, done, err := o.session(o.agent, session.MCP)
	if err != nil {
		return err
	}
	defer done()
	if err := h.Ready(); err != nil {
		return cantStart(err)
	}
	server := mcp.NewServer(s, o.version, mcp.Instructions(s.Policy()))
	go server.Follow(cmd.Context(), h.Changes(cmd.Context().Done()))
	if o.over.address != "" {
		return o.serveHTTP(cmd.Context(), h.Host, server, o.over)
	}
	return o.serveStreams(cmd.Context(), server)
}

// answerPatience is how long calls may go on when the input has ended and somebody still reads answers. It is less than
// clients wait for a server that they have told to end in this way.
const answerPatience = 1500 * time.Millisecond

// serveStreams serves the one client that has started this process, until that ends it.
func (a *app) serveStreams(ctx context.Context, server *mcp.Server) error {
	err := server.Run(ctx, mcp.Lines{Reader: a.stdin, Writer: a.stdout, Patience: answerPatience,
		Gone: func() bool { return unread(a.stdout) }})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return failed(fmt.Errorf("serve MCP: %w", err))
	}
	return nil
}
