package config

import (
	"slices"
	"strconv"

	"github.com/knadh/koanf/maps"
)

// Agent is the configuration of one agent: what is set for all agents with what it sets for itself above it.
type Agent struct {
	ID string

	Defaults  // with the workspace that it has
	Tools     Tools
	Isolation Isolation
	Heartbeat Heartbeat
	Network   *Network // nil if nothing is said of it
	Modules   []Module
	Plugins   AgentPlugins

	// OwnWorkspace says that somebody chose the workspace: it is not one of the built-in places below the home.
	OwnWorkspace bool

	settings []Setting
}

// Agent returns the configuration of one agent; an empty id stands for the first. It resolves it anew at each call.
func (c *Config) Agent(id string) (*Agent, error) {
	i := 0
	if id != "" {
		i = c.indexOf(id)
	}
	if i < 0 {
		return nil, c.unknownAgent(id)
	}
	a, err := c.resolve(i)
	if err != nil {
		return nil, &Error{Key: agentsKey + "[" + strconv.Itoa(i) + "]", Problem: err.Error(), err: err}
	}
	return a, nil
}

func (c *Config) resolve(i int) (*Agent, error) {
	var entry struct {
		ID      string         `koanf:"id"`
		Modules []Module       `koanf:"modules"`
		Plugins AgentPlugins   `koanf:"plugins"`
		Own     map[string]any `koanf:",remain"` // what it sets of the keys that are set for all
	}
	if err := decode(cloneFree(c.agents[i]), &entry); err != nil {
		return nil, err
	}
	values := cloneFree(c.shared)
	maps.Merge(asShared(entry.Own), values)
	var merged struct {
		Agents struct {
			Defaults Defaults `koanf:"defaults"`
		} `koanf:"agents"`
		Tools     Tools     `koanf:"tools"`
		Isolation Isolation `koanf:"isolation"`
		Heartbeat Heartbeat `koanf:"heartbeat"`
		Network   *Network  `koanf:"network"`
	}
	if err := decode(values, &merged); err != nil {
		return nil, err
	}
	a := &Agent{
		ID:        entry.ID,
		Defaults:  merged.Agents.Defaults,
		Tools:     merged.Tools,
		Isolation: merged.Isolation,
		Heartbeat: merged.Heartbeat,
		Network:   merged.Network,
		Modules:   entry.Modules,
		Plugins:   entry.Plugins,
	}
	a.Isolation.Enabled = c.isolation
	a.Isolation.ExposePaths = slices.Clone(c.exposed)
	a.settings = c.agentSettings(i)
	c.chooseWorkspace(a, i)
	c.chooseSet(a)
	return a, nil
}

// asShared gives what an agent sets for itself the names that it is set by for all.
func asShared(own map[string]any) map[string]any {
	out, defaults := map[string]any{}, map[string]any{}
	for key, value := range own {
		switch key {
		case "tools", "isolation", "network", "heartbeat":
			out[key] = value
		default:
			defaults[key] = value
		}
	}
	out["agents"] = map[string]any{"defaults": defaults}
	return out
}

// chooseWorkspace gives the agent the workspace that the nearest of these sets: the flag, the agent, and for the
// first agent what is set for all.
func (c *Config) chooseWorkspace(a *Agent, i int) {
	setting := &a.settings[slices.IndexFunc(a.settings, func(s Setting) bool { return s.Key == "workspace" })]
	switch _, own := c.agents[i]["workspace"]; {
	case c.flagWorkspace.Value != nil && c.flagAgent == i:
		setting.Value, setting.Origin = c.flagWorkspace.Value, c.flagWorkspace.Origin
	case i > 0 && !own:
		setting.Value, setting.Origin = c.defaultWorkspace("workspace-"+a.ID), Origin{}
	}
	a.Workspace = setting.Value.(string)
	a.OwnWorkspace = setting.Origin.Source != Default
}

// chooseSet gives an agent with modules the module set of tools, unless somebody chose one.
func (c *Config) chooseSet(a *Agent) {
	i := slices.IndexFunc(a.settings, func(s Setting) bool { return s.Key == "tools.set" })
	if len(a.Modules) > 0 && a.settings[i].Origin.Source == Default {
		a.settings[i].Value, a.Tools.Set = "module", "module"
	}
}
