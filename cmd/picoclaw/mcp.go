package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/mcp"
)

func newMCP(a *app) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent's tools over the Model Context Protocol on standard input and output",
		Long: `Serves an agent's tools to an MCP client that starts this command: requests come on standard input, answers go to
standard output, logs to standard error. ` + "`picoclaw init`" + ` tells clients of it.`,
		Example: strings.Trim(`
  picoclaw mcp
  picoclaw mcp --agent reader --workspace ~/projects/site
  claude mcp add picoclaw -- picoclaw mcp`, "\n"),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, h, done, err := a.session(agent, host.MCP)
			if err != nil {
				return err
			}
			defer done()
			if err := h.Ready(); err != nil {
				return cantStart(err)
			}
			server := mcp.NewServer(s, version, instructions(s))
			go server.Follow(cmd.Context(), h.Changes(cmd.Context().Done()))
			err = server.Run(cmd.Context(), mcp.Lines{Reader: a.stdin, Writer: a.stdout})
			if err != nil && cmd.Context().Err() == nil && !errors.Is(err, io.EOF) {
				return &failure{code: exitFailed, err: fmt.Errorf("serve MCP: %w", err)}
			}
			return nil
		},
	}
	a.agentFlag(cmd, &agent, "the agent to serve (default: the first one)")
	return cmd
}

// instructions tell a model where it is and what holds there.
func instructions(s *host.Session) string {
	policy := s.Policy().Guard()
	var b strings.Builder
	fmt.Fprintf(&b, "You work in %s; relative paths start there.", policy.Workspace)
	if policy.Restrict {
		b.WriteString(" Paths outside it are refused, except what the operator has opened.")
	}
	b.WriteString(" A refusal says which rule refused and what would change that; do not look for a way round it.")
	return b.String()
}
