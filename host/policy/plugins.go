package policy

import (
	"encoding/json"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PluginPolicy is the policy for one plugin.
type PluginPolicy struct {
	Enabled bool
	Dev     string          // absolute build directory; "" to use the store
	Grants  pluginpb.Grant  // given by the operator and allowed to the agent; the manifest narrows them further
	Config  json.RawMessage // the plugin's configuration, an object; may be nil

	// Granted says that the configuration sets the grants, which overrides those given at install.
	Granted bool

	Network *NetworkRules `json:",omitempty"` // allowed hosts among the agent's; nil for all
}

// pluginRules select the plugins of an agent.
type pluginRules struct {
	Known   map[string]PluginPolicy // configured plugins by id
	Filter  pluginPatterns
	Network bool // isolation.network
}

// pluginPatterns selects plugins by id or glob.
type pluginPatterns struct {
	Enabled  []string // sorted; empty for all
	Disabled []string // sorted
}

// PluginPolicy returns the policy for a plugin that was given no grants at install.
func (p *Policy) PluginPolicy(id string) PluginPolicy {
	return p.InstalledPluginPolicy(id, pluginpb.Grant{})
}

// InstalledPluginPolicy returns the policy for a plugin that was given grants at install. They apply unless the
// configuration sets grants.
func (p *Policy) InstalledPluginPolicy(id string, granted pluginpb.Grant) PluginPolicy {
	plugin, ok := p.plugins.Known[id]
	if !ok {
		plugin = PluginPolicy{Enabled: true}
	}
	if !plugin.Granted {
		plugin.Grants = granted.Intersect(granted)
	}
	_, plugin.Enabled = p.plugins.checkPluginEnabled(id)
	plugin.Grants.Env = slices.Clone(plugin.Grants.Env)
	plugin.Grants.Network = plugin.Grants.Network && p.plugins.Network
	plugin.Config = slices.Clone(plugin.Config)
	return plugin
}

// checkPluginEnabled reports whether the plugin is enabled. If not, it returns the setting that disables the plugin.
func (r pluginRules) checkPluginEnabled(id string) (rule string, ok bool) {
	if plugin, known := r.Known[id]; known && !plugin.Enabled {
		return "plugins." + id + ".enabled", false
	}
	switch {
	case matchesAnyPattern(r.Filter.Disabled, id):
		return "plugins.disabled", false
	case len(r.Filter.Enabled) > 0 && !matchesAnyPattern(r.Filter.Enabled, id):
		return "plugins.enabled", false
	}
	return "", true
}

func parsePluginRules(cfg *config.Config, agent *config.AgentConfig) (pluginRules, error) {
	rules := pluginRules{
		Known:   map[string]PluginPolicy{},
		Filter:  pluginPatterns{Enabled: sortedUnique(agent.Plugins.Enabled), Disabled: sortedUnique(agent.Plugins.Disabled)},
		Network: agent.Isolation.Network,
	}
	for _, id := range cfg.PluginIDs() {
		plugin := cfg.Plugin(id)
		raw, err := encodePluginConfig(plugin.Config)
		if err != nil {
			return pluginRules{}, err
		}
		network, err := parseNetworkRules(plugin.Network, "plugins."+id+".")
		if err != nil {
			return pluginRules{}, err
		}
		rules.Known[id] = PluginPolicy{
			Enabled: plugin.Enabled, Dev: plugin.Dev, Grants: plugin.Grants.Intersect(plugin.Grants), Config: raw,
			Granted: plugin.Granted, Network: network,
		}
	}
	for id, server := range cfg.MCPServers() {
		if known, ok := rules.Known[id]; !server.Enabled {
			if !ok {
				known.Grants.Workspace = pluginpb.NoWorkspace
			}
			known.Enabled = false
			rules.Known[id] = known
		}
	}
	return rules, nil
}
