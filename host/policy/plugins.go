package policy

import (
	"encoding/json"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Plugin is what the policy says about one plugin.
type Plugin struct {
	Enabled bool
	Dev     string          // absolute build directory to run it from instead of the store; "" for none
	Grants  pluginpb.Grant  // given by the operator and allowed to the agent; the manifest narrows it further
	Config  json.RawMessage // the plugin's own configuration, an object; nil for none

	// Granted says that the configuration speaks of its grants; what was granted when it was installed does not count
	// then.
	Granted bool

	Network *Network `json:",omitempty"` // which hosts of the agent's it may reach; nil for all
}

// pluginRules says which plugins there are for an agent.
type pluginRules struct {
	Known   map[string]Plugin // by id: what the configuration says
	Filter  pluginFilter
	Network bool // isolation.network
}

// pluginFilter chooses plugins by ids and globs, as toolFilter does tools.
type pluginFilter struct {
	Enabled  []string // sorted; empty for all
	Disabled []string // sorted
}

// Plugin returns what the policy says about a plugin that was granted nothing when it was installed.
func (p *Policy) Plugin(id string) Plugin { return p.Installed(id, pluginpb.Grant{}) }

// Installed returns what the policy says about a plugin that was granted something when it was installed, which holds
// unless the configuration says otherwise.
func (p *Policy) Installed(id string, granted pluginpb.Grant) Plugin {
	plugin, ok := p.plugins.Known[id]
	if !ok {
		plugin = Plugin{Enabled: true}
	}
	if !plugin.Granted {
		plugin.Grants = granted.Intersect(granted)
	}
	_, plugin.Enabled = p.plugins.refusal(id)
	plugin.Grants.Env = slices.Clone(plugin.Grants.Env)
	plugin.Grants.Network = plugin.Grants.Network && p.plugins.Network
	plugin.Config = slices.Clone(plugin.Config)
	return plugin
}

// refusal returns the setting that disables the plugin, or true.
func (r pluginRules) refusal(id string) (rule string, ok bool) {
	if plugin, known := r.Known[id]; known && !plugin.Enabled {
		return "plugins." + id + ".enabled", false
	}
	switch {
	case matchesAny(r.Filter.Disabled, id):
		return "plugins.disabled", false
	case len(r.Filter.Enabled) > 0 && !matchesAny(r.Filter.Enabled, id):
		return "plugins.enabled", false
	}
	return "", true
}

// rulesFrom takes the plugins from the configuration.
func rulesFrom(cfg *config.Config, agent *config.AgentConfig) (pluginRules, error) {
	rules := pluginRules{
		Known:   map[string]Plugin{},
		Filter:  pluginFilter{Enabled: sorted(agent.Plugins.Enabled), Disabled: sorted(agent.Plugins.Disabled)},
		Network: agent.Isolation.Network,
	}
	for _, id := range cfg.PluginIDs() {
		plugin := cfg.Plugin(id)
		raw, err := rawConfig(plugin.Config)
		if err != nil {
			return pluginRules{}, err
		}
		network, err := networkFrom(plugin.Network, "plugins."+id+".")
		if err != nil {
			return pluginRules{}, err
		}
		rules.Known[id] = Plugin{
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
