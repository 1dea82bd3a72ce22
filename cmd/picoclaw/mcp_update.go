package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/servers"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/store"
)

func newMCPUpdate(a *app) *cobra.Command {
	o := &mcpServer{pluginInstall: pluginInstall{app: a, verb: "mcp trust"}}
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Fetch an MCP server anew, and look at it again",
		Long: `Fetches the newest version that its command allows, and looks at it as mcp add does. If it offers the same, it takes the
place of the one that runs; what is different is shown, and it takes the place when you say yes.`,
		Example:           "  picoclaw mcp update everything",
		Args:              oneServer,
		ValidArgsFunction: a.serverNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.again(cmd.Context(), args[0]) },
	}
	o.flags(cmd)
	return cmd
}

func newMCPTrust(a *app) *cobra.Command {
	o := &mcpServer{pluginInstall: pluginInstall{app: a, verb: "mcp trust"}}
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Accept what an MCP server offers now",
		Long: `Shows what is different from what was accepted, asks, and accepts it: a version that waits, or else what the server says
when it is looked at again. A server that stands in the configuration (tools.mcp.servers) is looked at for the first time.`,
		Example:           "  picoclaw mcp trust everything",
		Args:              oneServer,
		ValidArgsFunction: a.serverNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.shelf()
			if err != nil {
				return err
			}
			if pin := s.lock.Plugins[args[0]]; pin != nil && pin.Waiting != nil {
				if err := format(o.output); err != nil {
					return err
				}
				return o.accept(s, args[0], pin)
			}
			return o.again(cmd.Context(), args[0])
		},
	}
	o.flags(cmd)
	return cmd
}

// again makes the package of a server once more, as it was asked for.
func (o *mcpServer) again(ctx context.Context, name string) error {
	if err := format(o.output); err != nil {
		return err
	}
	s, err := o.app.shelf()
	if err != nil {
		return err
	}
	pin, err := s.addedServer(name)
	var before servers.Spec
	if err == nil {
		if before, err = s.asked(name, pin); err != nil {
			return failed(err)
		}
	}
	if declared, is := s.cfg.MCPServers()[name]; is {
		pin = s.lock.Plugins[name] // nil the first time
		o.spec, o.declared = declaredSpec(declared), declared.Digest()
	} else {
		if err != nil {
			return err
		}
		o.spec = before
	}
	if pin != nil {
		if o.also, err = servers.DiffSpecs(name, before, o.spec); err != nil {
			return failed(err)
		}
	}
	if err := o.place(ctx, s, name, pin); err != nil {
		return err
	}
	if err := s.forgetSeen(name); err != nil {
		return failed(err)
	}
	return nil
}

// asked is what was asked for when a server was added.
func (s *shelf) asked(name string, pin *store.Pin) (servers.Spec, error) {
	text, err := s.store.ReadFile(name, pin, servers.DefinitionFile)
	if err != nil {
		return servers.Spec{}, err
	}
	asked, _, _, err := servers.Parse(text)
	if err != nil {
		return servers.Spec{}, err
	}
	return *asked, nil
}

// declaredSpec is what the configuration says of a server.
func declaredSpec(c config.MCPServer) servers.Spec {
	s := servers.Spec{
		Env: c.Env, URL: c.URL, Headers: c.Headers, Files: c.Files, Workspace: c.Workspace, Network: c.Network,
		Secrets: c.Secrets, Programs: c.Programs, Roots: c.Roots, Claims: c.Claims, Agents: c.Agents,
	}
	if c.Command != "" {
		s.Command = append([]string{c.Command}, c.Args...)
	}
	return s
}
