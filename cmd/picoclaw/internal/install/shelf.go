package install

import (
	"fmt"
	"slices"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// PluginInventory is the inventory of the plugins in a home.
type PluginInventory struct{ *inventory.Inventory }

// OpenPluginInventory reads the inventory of plugins. It starts no plugin.
func OpenPluginInventory(f *cli.Factory) (*PluginInventory, error) {
	cfg, err := f.Config("")
	if err != nil {
		return nil, err
	}
	home := cfg.Home()
	if home.Fallback {
		return nil, cli.StartError(fmt.Errorf("there is no home for plugins; set PICOCLAW_HOME or HOME to an absolute directory"))
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg})
	if err != nil {
		return nil, cli.StartError(err)
	}
	s, err := inventory.ReadInventory(h)
	if err != nil {
		return nil, cli.StartError(err)
	}
	return &PluginInventory{s}, nil
}

// FindLockEntry returns the lock file's entry of an installed plugin.
func (s *PluginInventory) FindLockEntry(id string) (*store.InstalledPlugin, error) {
	pin, err := s.FindInstalled(id)
	if err != nil {
		return nil, cli.UsageErrorf("%w", err)
	}
	return pin, nil
}

// IsBundled reports whether a plugin comes with picoclaw.
func (s *PluginInventory) IsBundled(id string) bool {
	return slices.ContainsFunc(s.Catalog.Plugins(), func(p *catalog.Plugin) bool {
		return p.Manifest.ID == id &&
			p.Kind == catalog.BundledPlugin
	})
}

// CheckStoreOutsideWorkspaces returns an error if the plugin store is in a workspace: an agent could change plugins.
func (s *PluginInventory) CheckStoreOutsideWorkspaces() error {
	for _, id := range s.Config.AgentIDs() {
		p, err := policy.PreviewPolicy(s.Config, id)
		if err != nil {
			return err
		}
		if paths.Within(p.WorkspacePath(), s.Store.PluginsDir()) {
			return fmt.Errorf("the plugin store %s is inside the workspace of agent %s, %s; change the workspace, or PICOCLAW_HOME",
				s.Store.PluginsDir(), id, p.WorkspacePath())
		}
	}
	return nil
}
