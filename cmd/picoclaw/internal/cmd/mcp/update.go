package mcp

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/mcpservers"
	"github.com/picoclaw/picoclaw/host/session"
)

// UpdateOptions are the options of `picoclaw mcp update`.
type UpdateOptions struct{ serverOptions }

func NewCmdUpdate(f *cli.Factory, runF func(*UpdateOptions) error) *cobra.Command {
	o := &UpdateOptions{serverOptions{Options: install.Options{Factory: f, Verb: "mcp trust"}}}
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Update an MCP server",
		Long: `Download the newest version that the command allows and inspect it as mcp add does. Without changes in tools and
grants it replaces the current version; otherwise show the changes and ask first.`,
		Example:           "  picoclaw mcp update everything",
		Args:              oneServer(&o.name),
		ValidArgsFunction: completeServers(f),
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.again(cmd.Context()) },
	}
	o.AddTo(cmd)
	return cli.NewCommand(cmd, o, runF)
}

// TrustOptions are the options of `picoclaw mcp trust`.
type TrustOptions struct{ serverOptions }

func NewCmdTrust(f *cli.Factory, runF func(*TrustOptions) error) *cobra.Command {
	o := &TrustOptions{serverOptions: serverOptions{Options: install.Options{Factory: f, Verb: "mcp trust"}}}
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Accept an MCP server's changed tools",
		Long: `Show the changes of a server since it was accepted, ask, and accept them: a downloaded new version, or else the
server's current tool definitions. A server from the configuration (tools.mcp.servers) is inspected for the first
time.`,
		Example:           "  picoclaw mcp trust everything",
		Args:              oneServer(&o.name),
		ValidArgsFunction: completeServers(f),
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.AddTo(cmd)
	return cli.NewCommand(cmd, o, runF)
}

func (o *TrustOptions) run(ctx context.Context) error {
	s, err := install.OpenShelf(o.Factory)
	if err != nil {
		return err
	}
	if pin := s.Lock.Plugins[o.name]; pin != nil && pin.Waiting != nil {
		if err := o.Accept(s, o.name, pin); err != nil {
			return err
		}
		return forgetSeen(s, o.name)
	}
	return o.again(ctx)
}

// again makes the package of a server once more, as it was asked for.
func (o *serverOptions) again(ctx context.Context) error {
	name := o.name
	s, err := install.OpenShelf(o.Factory)
	if err != nil {
		return err
	}
	pin, err := addedServer(s, name)
	var before mcpservers.ServerSpec
	if err == nil {
		if before, err = s.ApprovedSpec(name, pin); err != nil {
			return cli.Fail(err)
		}
	}
	if declared, is := s.Config.MCPServers()[name]; is {
		pin = s.Lock.Plugins[name] // nil the first time
		o.spec, o.declared = inventory.DeclaredSpec(declared), declared.Digest()
	} else {
		if err != nil {
			return err
		}
		o.spec = before
	}
	var noted []session.Withdrawal
	if pin != nil {
		noted = session.ReadWithdrawals(s.Config.Home().Path, name, pin.Version)
		if o.Also, err = mcpservers.DiffSpecs(name, before, o.spec); err != nil {
			return cli.Fail(err)
		}
	}
	if err := o.place(ctx, s, name, pin); err != nil {
		return err
	}
	if err := forgetSeen(s, name); err != nil {
		return cli.Fail(err)
	}
	if len(noted) == 0 || o.Differs {
		return nil
	}
	fmt.Fprintf(o.Err, otherWords, name, inventory.WithdrawnNames(noted))
	return nil
}

// otherWords is for a server that says here what was accepted, and where it runs something else.
const otherWords = `beware: with an empty state directory and an empty workspace, %[1]s describes its tools as they were accepted.
Where it ran it did not: %[2]s.
Unless it has changed back since, what it says depends on what it finds there or on whom it runs for, and that can't be
accepted: nobody has read what it will say. Its tools are offered again as they were accepted. If they are withdrawn again:
  ` + "`picoclaw mcp remove %[1]s`" + ` and mcp add have it begin with an empty state directory,
  mcp add with --agent makes it those agents' alone for whom its words are the same,
  ` + "`picoclaw plugin disable %[1]s --tool TOOL`" + ` does without the tool
`
