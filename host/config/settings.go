package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/maps"
)

// Settings returns the keys that are set or have a default, with origins: first plain keys in table order, then sorted
// list elements, then plugins.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, row := range keyTable() {
		if s, ok := c.commonSetting(row); ok {
			out = append(out, s)
		}
	}
	table := len(out)
	for key, s := range c.settings {
		if _, whole := s.Value.([]any); !whole && strings.Contains(key, "[") {
			out = append(out, s.cloneSetting())
		}
	}
	slices.SortFunc(out[table:], func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	for _, id := range c.PluginIDs() {
		for _, row := range keyTable() {
			if s, ok := c.pluginSetting(row, id); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// pluginSetting returns the setting of a key for one plugin; false for other keys, and keys without a value.
func (c *Config) pluginSetting(row KeySpec, id string) (Setting, bool) {
	name, below := strings.CutPrefix(row.Name, "plugins.<id>.")
	if !below {
		return Setting{}, false
	}
	key := "plugins." + id + "." + name
	if s, ok := c.settings[key]; ok {
		return s.cloneSetting(), true
	}
	s := Setting{Key: key, Value: deepCloneValue(row.Default)}
	if given, ok := bundledPluginGrants()[id].(map[string]any); ok && strings.HasPrefix(name, "grants.") {
		if v, ok := given["grants"].(map[string]any)[strings.TrimPrefix(name, "grants.")]; ok {
			s.Value = v
		}
	}
	return s, s.Value != nil
}

// commonSetting returns the setting of a key for all agents; false for keys in lists, and keys without a value.
func (c *Config) commonSetting(row KeySpec) (Setting, bool) {
	if strings.ContainsAny(row.Name, "[<") || row.Type == ObjectsType || row.Type == MapType {
		return Setting{}, false
	}
	if s, ok := c.settings[row.Name]; ok {
		return s.cloneSetting(), true
	}
	s := Setting{Key: row.Name, Value: deepCloneValue(row.Default)}
	if row.Name == defaultsPrefix+"workspace" {
		s.Value = c.defaultWorkspacePath("workspace")
	}
	return s, row.Default != nil
}

// Settings returns the settings that apply to the agent, in table order, under their names in an agent's settings.
func (a *AgentConfig) Settings() []Setting {
	out := slices.Clone(a.settings)
	for i := range out {
		out[i] = out[i].cloneSetting()
	}
	return out
}

// agentSettings returns the settings that apply to agent i: its own, or else the common ones.
func (c *Config) agentSettings(i int) []Setting {
	var out []Setting
	for _, row := range keyTable() {
		if !row.PerAgent {
			continue
		}
		s, _ := c.commonSetting(row)
		if own, ok := c.settings[c.agentKeyName(i, row.NameInAgent())]; ok {
			s = own.cloneSetting()
			s.Own = true
		}
		s.Key, s.Common = row.NameInAgent(), row.Name
		out = append(out, s)
	}
	for _, name := range []string{"plugins.enabled", "plugins.disabled"} {
		if own, ok := c.settings[c.agentKeyName(i, name)]; ok {
			out = append(out, Setting{Key: name, Value: own.Value, Origin: own.Origin}.cloneSetting())
		}
	}
	prefix := c.agentKeyName(i, "modules[")
	modules := len(out)
	for key, s := range c.settings {
		if strings.HasPrefix(key, prefix) {
			s.Key = "modules[" + strings.TrimPrefix(key, prefix)
			out = append(out, s.cloneSetting())
		}
	}
	slices.SortFunc(out[modules:], func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// agentKeyName returns the full name, as written, of a key in the settings of agent i.
func (c *Config) agentKeyName(i int, name string) string {
	list := agentsKey
	if _, alias := c.settings[agentsAlias]; alias {
		list = agentsAlias
	}
	return list + "[" + strconv.Itoa(i) + "]." + name
}

func (s Setting) cloneSetting() Setting {
	s.Value = deepCloneValue(s.Value)
	return s
}

// agentObjects returns the agents' own settings. If no agent is configured, it returns one agent without settings.
func (c *documentChecker) agentObjects() []map[string]any {
	var out []map[string]any
	for _, key := range []string{agentsKey, agentsAlias} {
		list, _ := c.settings[key].Value.([]any)
		for _, agent := range list {
			out = append(out, agent.(map[string]any))
		}
	}
	if len(out) == 0 {
		return []map[string]any{{"id": "main"}}
	}
	return out
}

// dropRecordedAgents forgets the agents of lower layers, since a later layer replaces the whole list.
func (c *documentChecker) dropRecordedAgents() {
	for key := range c.settings {
		if strings.HasPrefix(key, agentsKey) || strings.HasPrefix(key, agentsAlias) {
			delete(c.settings, key)
		}
	}
}

// AgentConfig is the configuration of one agent: the common settings of all agents, overridden by its own settings.
type AgentConfig struct {
	ID string `koanf:"id"`

	AgentDefaults `koanf:"-"` // with the workspace that it has
	Tools         Tools       `koanf:"tools"`
	Isolation     Isolation   `koanf:"isolation"`
	Heartbeat     Heartbeat   `koanf:"heartbeat"`
	Network       *Network    `koanf:"network"` // nil if not configured

	Modules []ModuleRestriction `koanf:"modules"`
	Plugins AgentPlugins        `koanf:"plugins"`

	// CustomWorkspace says that the workspace was configured, not a default below the home.
	CustomWorkspace bool `koanf:"-"`

	settings []Setting
}

// ResolveAgent returns the configuration of one agent; an empty id means the first agent. Each call resolves it again.
func (c *Config) ResolveAgent(id string) (*AgentConfig, error) {
	i := 0
	if id != "" {
		i = c.agentIndex(id)
	}
	if i < 0 {
		return nil, c.unknownAgentError(id)
	}
	a, err := c.resolveAgentAt(i)
	if err != nil {
		return nil, &Error{Key: agentsKey + "[" + strconv.Itoa(i) + "]", Problem: err.Error(), err: err}
	}
	return a, nil
}

func (c *Config) resolveAgentAt(i int) (*AgentConfig, error) {
	values := deepCloneObject(c.shared)
	maps.Merge(toSharedKeys(deepCloneObject(c.agents[i])), values)
	var merged struct {
		AgentConfig `koanf:",squash"`
		Agents      struct {
			Defaults AgentDefaults `koanf:"defaults"`
		} `koanf:"agents"`
	}
	if err := decodeStruct(values, &merged); err != nil {
		return nil, err
	}
	a := &merged.AgentConfig
	a.AgentDefaults = merged.Agents.Defaults
	a.Isolation.Enabled = c.sections.Isolation.Enabled
	a.Isolation.ExposePaths = slices.Clone(c.exposed)
	a.settings = c.agentSettings(i)
	c.chooseWorkspace(a, i)
	c.chooseToolSet(a)
	c.project.narrowAgent(a)
	return a, nil
}

// toSharedKeys converts an agent's settings to the key structure of the settings for all agents. The keys that only an
// agent has are at the top.
func toSharedKeys(own map[string]any) map[string]any {
	out, defaults := map[string]any{}, map[string]any{}
	for key, value := range own {
		switch key {
		case "tools", "isolation", "network", "heartbeat", "id", "modules", "plugins":
			out[key] = value
		default:
			defaults[key] = value
		}
	}
	out["agents"] = map[string]any{"defaults": defaults}
	return out
}

// chooseWorkspace sets the agent's workspace from the first of these that is set: the flag, the agent's setting and,
// for the first agent, the common setting.
func (c *Config) chooseWorkspace(a *AgentConfig, i int) {
	setting := &a.settings[slices.IndexFunc(a.settings, func(s Setting) bool { return s.Key == "workspace" })]
	switch _, own := c.agents[i]["workspace"]; {
	case c.flagWorkspace.Value != nil && c.flagAgent == i:
		setting.Value, setting.Origin = c.flagWorkspace.Value, c.flagWorkspace.Origin
	case i > 0 && !own:
		setting.Value, setting.Origin = c.defaultWorkspacePath("workspace-"+a.ID), Origin{}
	}
	a.Workspace = setting.Value.(string)
	a.CustomWorkspace = setting.Origin.Source != DefaultSource
}

// chooseToolSet gives an agent with modules the tool set "module", unless tools.set is configured.
func (c *Config) chooseToolSet(a *AgentConfig) {
	i := slices.IndexFunc(a.settings, func(s Setting) bool { return s.Key == "tools.set" })
	if len(a.Modules) > 0 && a.settings[i].Origin.Source == DefaultSource {
		a.settings[i].Value, a.Tools.Set = "module", "module"
	}
}
