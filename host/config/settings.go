package config

import (
	"slices"
	"strconv"
	"strings"
)

// Settings returns the value and the origin of every key that is set or has a default: first the keys that are
// not inside a list or below an id, in the order of the table; then what is in the lists, sorted; then the plugins.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, row := range keys() {
		if s, ok := c.setting(row); ok {
			out = append(out, s)
		}
	}
	table := len(out)
	for key, s := range c.settings {
		if _, whole := s.Value.([]any); !whole && strings.Contains(key, "[") {
			out = append(out, s.clone())
		}
	}
	slices.SortFunc(out[table:], func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	for _, id := range c.PluginIDs() {
		for _, row := range keys() {
			if s, ok := c.pluginSetting(row, id); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// pluginSetting returns what a row of the table is set to for one plugin.
func (c *Config) pluginSetting(row Key, id string) (Setting, bool) {
	name, below := strings.CutPrefix(row.Name, "plugins.<id>.")
	if !below {
		return Setting{}, false
	}
	key := "plugins." + id + "." + name
	if s, ok := c.settings[key]; ok {
		return s.clone(), true
	}
	s := Setting{Key: key, Value: cloneValue(row.Default)}
	if given, ok := bundled()[id].(map[string]any); ok && strings.HasPrefix(name, "grants.") {
		if v, ok := given["grants"].(map[string]any)[strings.TrimPrefix(name, "grants.")]; ok {
			s.Value = v
		}
	}
	return s, s.Value != nil
}

// setting returns what a row of the table is set to for all agents.
func (c *Config) setting(row Key) (Setting, bool) {
	if strings.ContainsAny(row.Name, "[<") || row.Type == Objects || row.Type == Map {
		return Setting{}, false
	}
	if s, ok := c.settings[row.Name]; ok {
		return s.clone(), true
	}
	s := Setting{Key: row.Name, Value: cloneValue(row.Default)}
	if row.Name == defaultsPrefix+"workspace" {
		s.Value = c.defaultWorkspace("workspace")
	}
	return s, row.Default != nil
}

// Settings returns the value and the origin of every key that applies to the agent, in the order of the table,
// under the names that the agent itself would set them by.
func (a *Agent) Settings() []Setting {
	out := slices.Clone(a.settings)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

// agentSettings returns what the keys are set to for one agent: by itself, or else for all.
func (c *Config) agentSettings(i int) []Setting {
	var out []Setting
	for _, row := range keys() {
		if !row.PerAgent {
			continue
		}
		s, _ := c.setting(row)
		if own, ok := c.settings[c.agentKey(i, row.AgentName())]; ok {
			s = own.clone()
			s.Own = true
		}
		s.Key, s.Common = row.AgentName(), row.Name
		out = append(out, s)
	}
	for _, name := range []string{"plugins.enabled", "plugins.disabled"} {
		if own, ok := c.settings[c.agentKey(i, name)]; ok {
			out = append(out, Setting{Key: name, Value: own.Value, Origin: own.Origin}.clone())
		}
	}
	prefix := c.agentKey(i, "modules[")
	modules := len(out)
	for key, s := range c.settings {
		if strings.HasPrefix(key, prefix) {
			s.Key = "modules[" + strings.TrimPrefix(key, prefix)
			out = append(out, s.clone())
		}
	}
	slices.SortFunc(out[modules:], func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// agentKey returns the full name, as it was written, of a key that agent i sets for itself.
func (c *Config) agentKey(i int, name string) string {
	list := agentsKey
	if _, alias := c.settings[agentsAlias]; alias {
		list = agentsAlias
	}
	return list + "[" + strconv.Itoa(i) + "]." + name
}

func (s Setting) clone() Setting {
	s.Value = cloneValue(s.Value)
	return s
}

// agents returns what the agents set. With none configured there is one.
func (c *checker) agents() []map[string]any {
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

// forget drops what was noted for the agents, as a later layer replaces the whole list.
func (c *checker) forget() {
	for key := range c.settings {
		if strings.HasPrefix(key, agentsKey) || strings.HasPrefix(key, agentsAlias) {
			delete(c.settings, key)
		}
	}
}
