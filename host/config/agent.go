package config

import (
	"slices"
	"strconv"

	"github.com/knadh/koanf/maps"
)

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
