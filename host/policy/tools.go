package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// setAll is the value of tools.set that selects the tools of all sets.
const setAll = "all"

// toolFilter selects tools, resources and prompts by the settings in tools.
type toolFilter struct {
	Set      string   // set of built-in tools
	Modules  bool     // Actions limits the built-in tools
	Actions  []string // sorted
	Enabled  []string // sorted names and globs; empty for all
	Disabled []string // sorted names and globs

	Resources []string `json:",omitempty"` // sorted names and globs of resources
	Prompts   []string `json:",omitempty"` // sorted names and globs of prompts
	Sampling  []string `json:",omitempty"` // sorted names and globs of tools that may ask clients
}

// ToolPatterns returns the sorted names and globs that enable, disable or defer tools. A caller can report those that
// match no tool.
func (p *Policy) ToolPatterns() []string {
	return sortedUnique(slices.Concat(p.deferred, p.tools.Enabled, p.tools.Disabled))
}

// IsToolDeferred reports whether clients must search for the tool before it is listed.
func (p *Policy) IsToolDeferred(plugin, tool string) bool {
	return matchesAnyPattern(p.deferred, tool, plugin+"."+tool)
}

// AllowsTool reports whether the policy allows a tool and enables its plugin. sets are the tool sets of a built-in tool;
// other tools have none.
func (p *Policy) AllowsTool(plugin, tool string, sets []string) bool {
	return p.DecideTool(plugin, tool, sets).Verdict == guard.Allow
}

// DecideTool is like [Policy.AllowsTool], but returns a decision with the deciding setting and a hint.
func (p *Policy) DecideTool(plugin, tool string, sets []string) guard.Decision {
	if rule, ok := p.plugins.checkPluginEnabled(plugin); !ok {
		return p.newToolDenial(rule, fmt.Sprintf("plugin %s is not enabled for agent %s", plugin, p.agent), plugin)
	}
	if rule, ok := p.tools.checkToolEnabled(plugin, tool, sets); !ok {
		d := p.newToolDenial(rule, fmt.Sprintf("tool %s.%s is not enabled for agent %s", plugin, tool, p.agent), tool)
		switch rule {
		case "tools.set":
			d.Hint = fmt.Sprintf("set tools.set (%s) to %s", p.origins[rule],
				strings.Join(append(slices.Clone(sets), setAll), " or "))
		case "modules":
			d.Hint = p.moduleHint(tool)
		}
		return d
	}
	full := plugin + "." + tool
	return p.decideRestriction(guard.Decision{Verdict: guard.Allow, Rule: "tools"}, full, tool, strings.ReplaceAll(full, ".", "_"))
}

// decideRestriction returns allowed, or a refusal if a list in the policy's restriction matches none of the names.
func (p *Policy) decideRestriction(allowed guard.Decision, names ...string) guard.Decision {
	for _, list := range p.narrowing.Tools {
		if !matchesAnyPattern(list, names...) {
			return guard.Decision{Verdict: guard.Deny, Rule: "constraint.tools", Reason: "this session may not use " + names[0],
				Hint: "the session's token, or its client, allows only " + strings.Join(list, ", ")}
		}
	}
	return allowed
}

// narrowTools adds lists of names and globs to the policy's restriction.
func (p *Policy) narrowTools(lists [][]string) error {
	for _, list := range lists {
		if len(list) == 0 {
			return errors.New("an empty list of tools would allow none; leave it out or name a tool")
		}
		for _, pattern := range list {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return fmt.Errorf("tool %q: want a name or a glob, such as read_*", pattern)
			}
		}
	}
	p.narrowing.Tools = slices.Concat(p.narrowing.Tools, lists)
	return nil
}

// DecideResourceOrPrompt is like [Policy.DecideTool] for a resource or prompt, which is allowed only if a setting names
// it.
func (p *Policy) DecideResourceOrPrompt(kind, plugin, name string) guard.Decision {
	if rule, ok := p.plugins.checkPluginEnabled(plugin); !ok {
		return p.newToolDenial(rule, fmt.Sprintf("plugin %s is not enabled for agent %s", plugin, p.agent), plugin)
	}
	rule, patterns := "tools.resources", p.tools.Resources
	if kind == pluginpb.PromptKind {
		rule, patterns = "tools.prompts", p.tools.Prompts
	}
	if !matchesAnyPattern(patterns, name, plugin+"."+name) {
		return p.newToolDenial(rule, fmt.Sprintf("%s %s.%s is not enabled for agent %s", kind, plugin, name, p.agent), plugin+"."+name)
	}
	return p.decideRestriction(guard.Decision{Verdict: guard.Allow, Rule: rule}, kind+":"+plugin+"."+name)
}

// AllowsSampling reports whether a plugin's tool may send requests to the client's model, and ask for its roots.
func (p *Policy) AllowsSampling(plugin, tool string) bool {
	return matchesAnyPattern(p.tools.Sampling, tool, plugin+"."+tool)
}

// newToolDenial returns a refusal that names the deciding setting and its location.
func (p *Policy) newToolDenial(rule, reason, name string) guard.Decision {
	hint := fmt.Sprintf("%s (%s) would have to allow %s", rule, p.origins[rule], name)
	return guard.Decision{Verdict: guard.Deny, Rule: rule, Reason: reason, Hint: hint}
}

// moduleHint returns a hint that names the module action to allow, or says that no action allows the tool.
func (p *Policy) moduleHint(tool string) string {
	action := moduleActionOfTool(tool)
	if !slices.Contains(config.FilesystemModuleActions(), action) {
		return fmt.Sprintf("no action of a module includes %s; without modules (%s) the agent has it", tool,
			p.origins["modules"])
	}
	return fmt.Sprintf("add the action %s to the filesystem module in modules (%s)", action, p.origins["modules"])
}

// checkToolEnabled reports whether the tool is allowed. If not, it returns the setting that disables the tool.
func (f toolFilter) checkToolEnabled(plugin, tool string, sets []string) (rule string, ok bool) {
	builtIn := len(sets) > 0
	full := plugin + "." + tool
	switch {
	case builtIn && f.Set != setAll && !slices.Contains(sets, f.Set):
		return "tools.set", false
	case builtIn && f.Modules && !slices.Contains(f.Actions, moduleActionOfTool(tool)):
		return "modules", false
	case matchesAnyPattern(f.Disabled, tool, full):
		return "tools.disabled", false
	case len(f.Enabled) > 0 && !matchesAnyPattern(f.Enabled, tool, full):
		return "tools.enabled", false
	}
	return "", true
}

// moduleActionOfTool returns the filesystem module's action for a built-in tool. A tool has the same action under each
// of its names. For a tool without an action, such as exec, the result is no valid action.
func moduleActionOfTool(tool string) string {
	switch tool {
	case "read_file":
		return "read"
	case "write_file", "append_file":
		return "write"
	case "edit_file":
		return "edit"
	case "list_dir":
		return "ls"
	default:
		return tool
	}
}

// matchesAnyPattern reports whether a pattern matches one of the names. An invalid pattern matches nothing.
func matchesAnyPattern(patterns []string, names ...string) bool {
	for _, pattern := range patterns {
		for _, name := range names {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

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
	Filter  config.AgentPlugins     // sorted; all if none is enabled
	Network bool                    // isolation.network
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
		Filter:  config.AgentPlugins{Enabled: sortedUnique(agent.Plugins.Enabled), Disabled: sortedUnique(agent.Plugins.Disabled)},
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
