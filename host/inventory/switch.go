package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// SetToolEnabled disables or enables a plugin or tool. It fails for unknown tools, and if another setting keeps it
// disabled.
func (s *Inventory) SetToolEnabled(off store.DisableRule, on bool) error {
	if !on {
		return s.Store.DisableTool(off)
	}
	still, err := s.Store.EnableTool(off)
	if err != nil {
		return err
	}
	if still != nil {
		return fmt.Errorf("%s is still disabled by the entry of %s; enable that too", off, still)
	}
	if isExactName(off.Plugin) && !s.Config.Plugin(off.Plugin).Enabled {
		return fmt.Errorf("%s is still off in the configuration: plugins.%s.enabled", off, off.Plugin)
	}
	return nil
}

// CheckRuleNames returns an error for unknown names, since a typo would have no effect. It accepts globs, which may
// match names of later plugins.
func (s *Inventory) CheckRuleNames(off store.DisableRule) error {
	if agents := s.Config.AgentIDs(); isExactName(off.Agent) && !slices.Contains(agents, off.Agent) {
		return fmt.Errorf("there is no agent %q%s; the configuration has %s", off.Agent, suggest.DidYouMean(off.Agent, agents),
			strings.Join(agents, ", "))
	}
	if !isExactName(off.Plugin) {
		return nil
	}
	if !slices.Contains(s.PluginIDs(), off.Plugin) {
		_, err := s.FindInstalled(off.Plugin)
		return err
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID != off.Plugin || !isExactName(off.Tool) {
			continue
		}
		var tools []string
		for _, t := range p.Tools {
			tools = append(tools, t.Spec.Name)
		}
		if !slices.Contains(tools, off.Tool) {
			return fmt.Errorf("plugin %s has no tool %q%s", off.Plugin, off.Tool, suggest.DidYouMean(off.Tool, tools))
		}
	}
	return nil
}

// isExactName reports whether text is a name, and neither empty nor a glob.
func isExactName(text string) bool { return text != "" && !strings.ContainsAny(text, "*?[{") }

// FindInstalled returns the lock entry of an installed plugin.
func (s *Inventory) FindInstalled(id string) (*store.InstalledPlugin, error) {
	if pin := s.Lock.Plugins[id]; pin != nil {
		return pin, nil
	}
	for _, p := range s.Catalog.Plugins() {
		if p.Manifest.ID == id {
			return nil, fmt.Errorf("plugin %s is %s and not in the store; `picoclaw plugin disable %s` switches it off", id,
				p.Kind, id)
		}
	}
	return nil, fmt.Errorf("plugin %q is not installed%s", id, suggest.DidYouMean(id, s.PluginIDs()))
}
