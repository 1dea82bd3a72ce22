package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
)

func newPlugin(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:     "plugin",
		Short:   "Install, look at and switch plugins, and write them",
		Example: "  picoclaw plugin list\n  picoclaw plugin new linecount",
	}, newPluginList(a, nil), newPluginInfo(a, nil), newPluginInstall(a, nil), newPluginUpdate(a, nil), newPluginSwitch(a, true, nil),
		newPluginSwitch(a, false, nil),
		newPluginRemove(a, nil), newPluginVerify(a, nil), newPluginReset(a, nil), newPluginNew(a, nil), newPluginCheck(a, nil))
}

// shelf is the plugins of an instance root, as the verbs of plugin see them.
type shelf struct{ *inventory.Inventory }

// shelf reads the plugins. It starts nothing.
func (a *app) shelf() (*shelf, error) {
	cfg, err := a.config("")
	if err != nil {
		return nil, err
	}
	home := cfg.Home()
	if home.Fallback {
		return nil, cantStart(fmt.Errorf("there is no home directory to keep plugins in: set PICOCLAW_HOME to an absolute directory, or HOME"))
	}
	h, err := session.Open(session.Options{Config: cfg})
	if err != nil {
		return nil, cantStart(err)
	}
	s, err := inventory.Read(h)
	if err != nil {
		return nil, cantStart(err)
	}
	return &shelf{s}, nil
}

// installed returns the pin of an installed plugin.
func (s *shelf) installed(id string) (*store.Pin, error) {
	pin, err := s.Installed(id)
	if err != nil {
		return nil, usage("%w", err)
	}
	return pin, nil
}

// comesWith reports whether a plugin comes with picoclaw.
func (s *shelf) comesWith(id string) bool {
	return slices.ContainsFunc(s.Catalog.Plugins(), func(p *catalog.Plugin) bool {
		return p.Manifest.ID == id &&
			p.Kind == catalog.Bundled
	})
}

// onePlugin is for a command that takes the id of a plugin.
func onePlugin(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes the id of one plugin, as `picoclaw plugin list` shows it", spoken(cmd))
	}
	return nil
}

// completePlugins proposes plugins.
func completePlugins(a *app) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := a.shelf()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.IDs(), cobra.ShellCompDirectiveNoFileComp
	}
}
