package mcp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/mcpservers"
)

// GrantOptions are the options of `picoclaw mcp grant` and `picoclaw mcp revoke`.
type GrantOptions struct {
	sharedServerOptions
	revoke bool
}

func NewCmdGrant(f *cli.Factory, revoke bool, runF func(*GrantOptions) error) *cobra.Command {
	o := &GrantOptions{sharedServerOptions: sharedServerOptions{Options: install.Options{Factory: f, Verb: "mcp trust"}}, revoke: revoke}
	cmd := &cobra.Command{
		Use:   "grant NAME",
		Short: "Grant an MCP server more access",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := oneServerArgument(&o.name)(cmd, args); err != nil {
				return err
			}
			if len(o.spec.Network)+len(o.spec.Secrets)+len(o.spec.Programs) == 0 && o.spec.Workspace == "" {
				return cli.UsageErrorf("name the access: --network, --program, --secret or --workspace")
			}
			return nil
		},
		ValidArgsFunction: completeServers(f),
	}
	o.addGrantFlags(cmd, "")
	if revoke {
		cmd.Use, cmd.Short = "revoke NAME", "Revoke an MCP server's access"
	}
	o.AddFlags(cmd)
	return cli.SetRun(cmd, o, (*GrantOptions).changeGrants, runF)
}

// changeGrants installs the server's active version again with the changed grants.
func (o *GrantOptions) changeGrants() error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	if _, declared := s.Config.MCPServers()[o.name]; declared {
		return cli.FailedError(fmt.Errorf("the server %s is in the configuration; change tools.mcp.servers.%[1]s, then run "+
			"`picoclaw mcp trust %[1]s`", o.name))
	}
	pin, err := findServerLockEntry(s, o.name)
	if err != nil {
		return err
	}
	if w := pin.Waiting; w != nil && w.Data != pin.Data {
		return cli.FailedError(fmt.Errorf("version %s of %s is pending and would be lost; accept it first with `picoclaw mcp update %s`", w.Version, o.name, o.name))
	}
	approved, err := s.ApprovedSpec(o.name, &pin.PluginVersion)
	if err != nil {
		return cli.FailedError(err)
	}
	changed := approved
	changed.Workspace = cmp.Or(o.spec.Workspace, approved.Workspace)
	if levels := []string{"none", "ro", "rw"}; o.revoke && slices.Index(levels, changed.Workspace) > slices.Index(levels, cmp.Or(approved.Workspace, "none")) {
		return cli.UsageErrorf("--workspace %s: the server %s has less access (%s)", changed.Workspace, o.name, cmp.Or(approved.Workspace, "none"))
	}
	for _, list := range []struct {
		flag  string
		names []string
		to    *[]string
	}{
		{"network", o.spec.Network, &changed.Network}, {"secret", o.spec.Secrets, &changed.Secrets},
		{"program", o.spec.Programs, &changed.Programs},
	} {
		*list.to = slices.Clone(*list.to)
		for _, name := range list.names {
			switch at := slices.Index(*list.to, name); {
			case o.revoke && at < 0:
				return cli.UsageErrorf("--%s %s: the server %s does not have this grant; `picoclaw mcp show %s` lists its grants",
					list.flag, name, o.name, o.name)
			case o.revoke:
				*list.to = slices.Delete(*list.to, at, at+1)
			case at < 0:
				*list.to = append(*list.to, name)
			}
		}
	}
	o.spec = changed
	if err = o.checkSpecAgainstConfig(s); err != nil {
		return err
	}
	if o.Also, err = mcpservers.FormatSpecDiff(o.name, approved, changed); err != nil {
		return cli.FailedError(err)
	}
	p, err := mcpservers.RebuildWithGrants(s.Store, o.name, pin, &changed)
	if err != nil {
		return cli.FailedError(err)
	}
	defer p.Discard()
	return o.UpdatePlugin(s, p, pin)
}
