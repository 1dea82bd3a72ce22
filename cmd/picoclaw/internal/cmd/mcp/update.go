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

// UpdateOptions are the options of `picoclaw mcp update` and `picoclaw mcp trust`.
type UpdateOptions struct{ sharedServerOptions }

func NewCmdUpdate(f *cli.Factory, runF func(*UpdateOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "update NAME", Short: "Update an MCP server"}
	return newUpdateCommand(f, cmd, (*UpdateOptions).rebuildAndInstallServer, runF)
}

func NewCmdTrust(f *cli.Factory, runF func(*UpdateOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "trust NAME", Short: "Accept an MCP server's changed tools"}
	return newUpdateCommand(f, cmd, (*UpdateOptions).trustServer, runF)
}

func newUpdateCommand(f *cli.Factory, cmd *cobra.Command, run func(*UpdateOptions, context.Context) error,
	runF func(*UpdateOptions) error) *cobra.Command {
	o := &UpdateOptions{sharedServerOptions{Options: install.Options{Factory: f, Verb: "mcp trust"}}}
	cmd.Args, cmd.ValidArgsFunction = oneServerArgument(&o.name), completeServers(f)
	o.AddFlags(cmd)
	return cli.SetRunContext(cmd, o, run, runF)
}

func (o *UpdateOptions) trustServer(ctx context.Context) error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	if pin := s.Lock.Plugins[o.name]; pin != nil && pin.Waiting != nil {
		if err := o.AcceptWaitingVersion(s, o.name, pin); err != nil {
			return err
		}
		return clearQuarantine(s, o.name)
	}
	return o.rebuildAndInstallServer(ctx)
}

// rebuildAndInstallServer builds and installs a server's package again.
func (o *sharedServerOptions) rebuildAndInstallServer(ctx context.Context) error {
	name := o.name
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	pin, err := findServerLockEntry(s, name)
	var approved mcpservers.ServerSpec
	if err == nil {
		if approved, err = s.ApprovedSpec(name, &pin.PluginVersion); err != nil {
			return cli.FailedError(err)
		}
	}
	if declared, is := s.Config.MCPServers()[name]; is {
		pin = s.Lock.Plugins[name] // nil the first time
		o.spec, o.declaredDigest = inventory.SpecFromConfig(declared), declared.Digest()
	} else {
		if err != nil {
			return err
		}
		o.spec = approved
	}
	var withdrawals []session.ToolWithdrawal
	if pin != nil {
		withdrawals = session.ReadToolWithdrawals(s.Config.Home().Path, name, pin.Version)
		if o.Also, err = mcpservers.FormatSpecDiff(name, approved, o.spec); err != nil {
			return cli.FailedError(err)
		}
	}
	if err := o.installServer(ctx, s, name, pin); err != nil {
		return err
	}
	if err := clearQuarantine(s, name); err != nil {
		return cli.FailedError(err)
	}
	if len(withdrawals) == 0 || o.Differs {
		return nil
	}
	fmt.Fprintf(o.Err, differentToolsWarning, name, inventory.FormatQuarantinedTools(withdrawals))
	return nil
}

// differentToolsWarning warns about a server whose tools in use differ from those in the review.
const differentToolsWarning = `warning: in an empty sandbox, %[1]s describes its tools as accepted, but in use it did not: %[2]s.
Definitions that depend on the server's state or on the agent can't be accepted. The accepted tools are offered again.
If they are quarantined again, ` + "`picoclaw mcp remove %[1]s` and mcp add clear its state, mcp add --agent limits it to agents with\n" +
	"equal definitions, and `picoclaw plugin disable %[1]s --tool TOOL` disables the tool.\n"
