package mcp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/mcpservers"
)

// ImportOptions are the options of `picoclaw mcp import`.
type ImportOptions struct {
	sharedServerOptions
	file string // the client's settings file
}

func NewCmdImport(f *cli.Factory, runF func(*ImportOptions) error) *cobra.Command {
	o := &ImportOptions{sharedServerOptions: sharedServerOptions{Options: install.Options{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add the MCP servers of a client's settings",
		Args:  cli.OneArgument(&o.file, "name the file with the client's settings"),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.spec.Workspace, "workspace", "none", "access to the agent's workspace: none, ro or rw")
	flags.StringSliceVar(&o.spec.Network, "network", nil, "`HOSTS` that the servers may reach, * for any (default: none)")
	flags.StringSliceVar(&o.spec.Agents, "agent", nil, "`AGENTS` that may use the servers (default: all)")
	o.AddFlags(cmd)
	return cli.SetRunContext(cmd, o, (*ImportOptions).importServers, runF)
}

func (o *ImportOptions) importServers(ctx context.Context) error {
	text, err := os.ReadFile(o.file)
	if err != nil {
		return cli.UsageErrorf("%v", err)
	}
	found, skipped, err := mcpservers.ParseClientConfig(text)
	if err != nil {
		return cli.UsageErrorf("%s: %v", o.file, err)
	}
	failures := len(skipped)
	for _, name := range slices.Sorted(maps.Keys(skipped)) {
		out := terminal.NewWriter(o.Err)
		fmt.Fprintf(out, "picoclaw: %s was not added: %s\n", terminal.CleanLine(name), terminal.CleanLine(skipped[name].Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s, err := install.OpenPluginInventory(o.Factory)
		if err != nil {
			return err
		}
		if s.Lock.Plugins[name] != nil {
			fmt.Fprintf(o.Err, "%s already exists\n", name)
			continue
		}
		server := &sharedServerOptions{Options: o.Options, spec: found[name]}
		server.spec.Workspace, server.spec.Network, server.spec.Agents = o.spec.Workspace, o.spec.Network, o.spec.Agents
		if err := server.installServer(ctx, s, name, nil); err != nil {
			out := terminal.NewWriter(o.Err)
			fmt.Fprintln(out, "picoclaw: "+out.ReplaceControls(err.Error()))
			failures++
		}
	}
	if failures > 0 {
		return cli.FailedError(fmt.Errorf("%d of %d servers were not added", failures, len(found)+len(skipped)))
	}
	return nil
}
