package policy

import (
	"encoding/json"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
)

// Access is what a plugin may do with the agent's files.
type Access string

// The kinds of access, each including the ones before it.
const (
	NoAccess  Access = "none"
	ReadOnly  Access = "ro"
	ReadWrite Access = "rw"
)

// rank orders the kinds of access; an unknown one is no access.
func (a Access) rank() int { return slices.Index([]Access{ReadOnly, ReadWrite}, a) + 1 }

// Grants is what a plugin may touch. The zero value is nothing.
type Grants struct {
	Workspace Access   `json:"workspace"`     // the workspace and the whitelisted paths
	Exec      bool     `json:"exec"`          // start processes
	Network   bool     `json:"network"`       // use the network
	State     bool     `json:"state"`         // keep files of its own
	Env       []string `json:"env,omitempty"` // sorted names of variables of the host's environment
}

// Intersect returns what both g and other grant.
func (g Grants) Intersect(other Grants) Grants {
	out := Grants{Workspace: g.Workspace, Exec: g.Exec && other.Exec, Network: g.Network && other.Network, State: g.State && other.State}
	if other.Workspace.rank() < g.Workspace.rank() {
		out.Workspace = other.Workspace
	}
	if out.Workspace.rank() == 0 {
		out.Workspace = NoAccess
	}
	for _, name := range sorted(g.Env) {
		if slices.Contains(other.Env, name) {
			out.Env = append(out.Env, name)
		}
	}
	return out
}

// Plugin is what the policy says about one plugin.
type Plugin struct {
	Enabled bool
	Dev     string          // absolute build directory to run it from instead of the store; "" for none
	Grants  Grants          // given by the operator and allowed to the agent; the manifest narrows it further
	Config  json.RawMessage // the plugin's own configuration, an object; nil for none

	// Granted says that the configuration speaks of its grants; what was granted when it was installed does not count then.
	Granted bool
}

// pluginRules says which plugins there are for an agent.
type pluginRules struct {
	Known   map[string]Plugin // by id: what the configuration says
	Filters []pluginFilter    // all must allow a plugin
	Network bool              // isolation.network
	Narrow  []map[string]Grants
}

// pluginFilter chooses plugins by ids and globs, as toolFilter does tools.
type pluginFilter struct {
	Enabled  []string // sorted; empty for all
	Disabled []string // sorted
}

// Plugin returns what the policy says about a plugin that was granted nothing when it was installed.
func (p *Policy) Plugin(id string) Plugin { return p.Installed(id, Grants{}) }

// Installed returns what the policy says about a plugin that was granted something when it was installed, which holds
// unless the configuration says otherwise.
func (p *Policy) Installed(id string, granted Grants) Plugin {
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
	for _, narrowed := range p.plugins.Narrow {
		if grants, ok := narrowed[id]; ok {
			plugin.Grants = plugin.Grants.Intersect(grants)
		}
	}
	plugin.Config = slices.Clone(plugin.Config)
	return plugin
}

// refusal returns the setting that disables the plugin, or true.
func (r pluginRules) refusal(id string) (rule string, ok bool) {
	if plugin, known := r.Known[id]; known && !plugin.Enabled {
		return "plugins." + id + ".enabled", false
	}
	for i, f := range r.Filters {
		switch {
		case matchesAny(f.Disabled, id):
			rule = "plugins.disabled"
		case len(f.Enabled) > 0 && !matchesAny(f.Enabled, id):
			rule = "plugins.enabled"
		default:
			continue
		}
		if i > 0 {
			rule = "child " + rule
		}
		return rule, false
	}
	return "", true
}

// rulesFrom takes the plugins from the configuration.
func rulesFrom(cfg *config.Config, agent *config.Agent) (pluginRules, error) {
	rules := pluginRules{
		Known:   map[string]Plugin{},
		Filters: []pluginFilter{{Enabled: sorted(agent.Plugins.Enabled), Disabled: sorted(agent.Plugins.Disabled)}},
		Network: agent.Isolation.Network,
	}
	for _, id := range cfg.PluginIDs() {
		plugin := cfg.Plugin(id)
		raw, err := rawConfig(plugin.Config)
		if err != nil {
			return pluginRules{}, err
		}
		grants := Grants{
			Workspace: Access(plugin.Grants.Workspace),
			Exec:      plugin.Grants.Exec,
			Network:   plugin.Grants.Network,
			State:     plugin.Grants.State,
			Env:       sorted(plugin.Grants.Env),
		}
		rules.Known[id] = Plugin{Enabled: plugin.Enabled, Dev: plugin.Dev, Grants: grants.Intersect(grants), Config: raw, Granted: plugin.Granted}
	}
	return rules, nil
}
