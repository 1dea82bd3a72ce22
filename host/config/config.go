// Package config loads and checks the configuration, and knows the origin of each value.
//
// koanf merges four layers, the later one wins: built-in defaults, a fleet's configuration (see [LoadOptions.Central]),
// one file (JSON with comments, or YAML), and PICOCLAW_* variables. Flags in [LoadOptions] override all. An agent's own
// settings override those for all agents, from any layer. Lists are replaced, not joined, except
// isolation.expose_paths, which is joined by target.
//
// [Schema] is the table of all keys: checks, variable names, the JSON Schema ([JSONSchema]) and the documentation are
// generated from it. Any mistake, such as an unknown key or a wrong type, is an [Error] with location, full key and
// remedy, and nothing starts; [Check] returns all mistakes.
//
// The package reads the configuration files and the environment only. It must not know what a policy is, look at
// workspaces, or know which plugins are installed.
package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/isolation"
)

// Config is a checked, immutable configuration for concurrent use. Callers own the values that methods return.
type Config struct {
	home     Home
	file     string
	central  string
	project  *Project         // narrows all agents
	agents   []map[string]any // own settings of each agent; never empty
	plugins  map[string]Plugin
	exposed  []isolation.ExposedPath
	sections sections
	secrets  map[string]Secret
	servers  map[string]MCPServer
	hooks    json.RawMessage
	shared   map[string]any     // settings for all agents that an agent can override
	settings map[string]Setting // explicit settings by key as written

	flagWorkspace Setting // from --workspace; may be zero
	flagAgent     int     // index of its agent
}

// sections are the sections that are decoded as they are.
type sections struct {
	Isolation Isolation        `koanf:"isolation"`
	Audit     Audit            `koanf:"audit"`
	Log       Log              `koanf:"log"`
	Signed    PluginSignatures `koanf:"signatures"`
	Models    []Model          `koanf:"model_list"`
	Gateway   Gateway          `koanf:"gateway"`
	Fleet     Fleet            `koanf:"fleet"`
	Approvals Approvals        `koanf:"approvals"`
	Telemetry Telemetry        `koanf:"telemetry"`
	Workspace struct {
		Protect FileProtection `koanf:"protect"`
	} `koanf:"workspace"`
}

// decodeMergedLayers sets the fields of the configuration from the merged layers.
func (c *Config) decodeMergedLayers(merged map[string]any) *Error {
	var all struct {
		sections `koanf:",squash"`
		Plugins  map[string]map[string]any `koanf:"plugins"`
		Secrets  map[string]map[string]any `koanf:"secrets"`
		Hooks    map[string]any            `koanf:"hooks"`
		Tools    struct {
			MCP struct {
				Servers map[string]map[string]any `koanf:"servers"`
			} `koanf:"mcp"`
		} `koanf:"tools"`
	}
	if err := decodeStruct(merged, &all); err != nil {
		return &Error{Problem: err.Error(), err: err}
	}
	c.sections = all.sections
	var err error
	if c.hooks, err = json.Marshal(all.Hooks); err != nil {
		return &Error{Key: "hooks", Problem: err.Error(), err: err}
	}
	c.exposed = mergeExposePaths(all.Isolation.ExposePaths)
	c.plugins = make(map[string]Plugin, len(all.Plugins))
	for id, values := range all.Plugins {
		plugin := Plugin{Enabled: true}
		if err := decodeStruct(values, &plugin); err != nil {
			return &Error{Key: "plugins." + id, Problem: err.Error(), err: err}
		}
		_, plugin.Granted = values["grants"]
		c.plugins[id] = plugin
	}
	if err := c.decodeSecrets(all.Secrets); err != nil {
		return err
	}
	c.servers = make(map[string]MCPServer, len(all.Tools.MCP.Servers))
	for name, values := range all.Tools.MCP.Servers {
		server := MCPServer{Enabled: true, Workspace: "none"}
		if err := decodeStruct(values, &server); err != nil {
			return &Error{Key: "tools.mcp.servers." + name, Problem: err.Error(), err: err}
		}
		c.servers[name] = server
	}
	if tools, ok := merged["tools"].(map[string]any); ok {
		delete(tools, "mcp")
	}
	c.shared = merged
	for _, name := range []string{"plugins", "audit", "log", "signatures", "workspace", "secrets", "model_list", "gateway",
		"fleet", "hooks"} {
		delete(merged, name)
	}
	delete(merged["isolation"].(map[string]any), "expose_paths")
	return nil
}

// decodeSecrets decodes the secrets, and checks that each has exactly one source.
func (c *Config) decodeSecrets(all map[string]map[string]any) *Error {
	c.secrets = make(map[string]Secret, len(all))
	for name, values := range all {
		var s Secret
		s.As.Header, s.As.Value = "Authorization", "Bearer {{secret}}"
		key := "secrets." + name
		if err := decodeStruct(values, &s); err != nil {
			return &Error{Key: key, Problem: err.Error(), err: err}
		}
		places := 0
		for _, has := range []bool{s.From.Env != "", s.From.File != "", len(s.From.Command) > 0} {
			if has {
				places++
			}
		}
		switch {
		case isReservedVariable(name):
			return &Error{Key: key, Problem: fmt.Sprintf("commands use %s for another purpose", name),
				Cure: "give the secret another name"}
		case places == 0:
			return &Error{Key: key + ".from", Problem: "has no source for the value",
				Cure: "set one of env, file and command"}
		case places > 1:
			return &Error{Key: key + ".from", Problem: "has several sources",
				Cure: "set one of env, file and command"}
		case !strings.Contains(s.As.Value, "{{secret}}"):
			return &Error{Key: key + ".as.value", Problem: fmt.Sprintf("%q has no placeholder for the value", s.As.Value),
				Cure: `insert {{secret}}, as in "Bearer {{secret}}"`}
		}
		c.secrets[name] = s
	}
	return nil
}

// isReservedVariable reports whether programs interpret a variable, so that it can't hold a secret's placeholder.
func isReservedVariable(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains([]string{"PATH", "HOME", "SHELL", "USER", "TMPDIR", "IFS", "ENV", "BASH_ENV"}, upper) ||
		strings.HasPrefix(upper, "LD_") || strings.HasSuffix(upper, "_PROXY") || strings.HasPrefix(upper, "PICOCLAW_")
}

// decodeStruct fills a struct from checked values by its koanf tags. It avoids koanf's deep copy.
func decodeStruct(values map[string]any, out any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{TagName: "koanf", Result: out})
	if err == nil {
		err = decoder.Decode(values)
	}
	if err != nil {
		return fmt.Errorf("decoding the configuration: %w", err)
	}
	return nil
}

// mergeExposePaths returns the last rule for each target, with defaults set.
func mergeExposePaths(rules []isolation.ExposedPath) []isolation.ExposedPath {
	out := make([]isolation.ExposedPath, 0, len(rules))
	for _, rule := range rules {
		rule.Target = cmp.Or(rule.Target, rule.Source)
		rule.Mode = cmp.Or(rule.Mode, "ro")
		out = slices.DeleteFunc(out, func(earlier isolation.ExposedPath) bool { return earlier.Target == rule.Target })
		out = append(out, rule)
	}
	return out
}

// Home returns the PICOCLAW_HOME directory of the configuration.
func (c *Config) Home() Home { return c.home }

// FilePath returns the absolute path of the configuration file; empty without one.
func (c *Config) FilePath() string { return c.file }

// IsolationEnabled reports whether isolation.enabled is true.
func (c *Config) IsolationEnabled() bool { return c.sections.Isolation.Enabled }

// Audit returns the audit settings.
func (c *Config) Audit() Audit { return c.sections.Audit }

// Log returns the log settings.
func (c *Config) Log() Log { return c.sections.Log }

// PluginSignatures returns the settings for plugin signatures.
func (c *Config) PluginSignatures() PluginSignatures { return c.sections.Signed }

// FileProtection returns the settings for protected files. Paths that a project protects turn the protection on.
func (c *Config) FileProtection() FileProtection {
	out, deny := c.sections.Workspace.Protect, c.project.values.Workspace.Protect.Deny
	out.Enabled, out.Deny = out.Enabled || len(deny) > 0, append(slices.Clip(out.Deny), deny...)
	return out
}

// Secrets returns the secrets by name.
func (c *Config) Secrets() map[string]Secret { return maps.Clone(c.secrets) }

// MCPServers returns the configured MCP servers by name.
func (c *Config) MCPServers() map[string]MCPServer { return maps.Clone(c.servers) }

// AgentIDs returns the ids of the agents, the default agent first. It is never empty.
func (c *Config) AgentIDs() []string {
	ids := make([]string, 0, len(c.agents))
	for _, agent := range c.agents {
		ids = append(ids, agent["id"].(string))
	}
	return ids
}

// PluginIDs returns the sorted ids of the bundled plugins and of those with settings, which may not be installed.
func (c *Config) PluginIDs() []string { return slices.Sorted(maps.Keys(c.plugins)) }

// Plugin returns the operator's settings for a plugin. A plugin without settings is enabled and has no grants.
func (c *Config) Plugin(id string) Plugin {
	plugin, ok := c.plugins[id]
	if !ok {
		return Plugin{Enabled: true}
	}
	plugin.Grants.Env = slices.Clone(plugin.Grants.Env)
	plugin.Config = deepCloneObject(plugin.Config)
	if plugin.Network != nil {
		network := *plugin.Network
		plugin.Network = &network
	}
	return plugin
}

func deepCloneObject(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	return deepCloneValue(m).(map[string]any)
}

func deepCloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = deepCloneValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = deepCloneValue(value)
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, value := range v {
			out[i] = deepCloneObject(value)
		}
		return out
	case []string:
		return slices.Clone(v)
	default:
		return v
	}
}

// defaultWorkspacePath returns the path of a workspace in the home. For a fallback home, the path is absolute if the
// working directory is known.
func (c *Config) defaultWorkspacePath(name string) string {
	path := filepath.Join(c.home.Path, name)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

func (c *Config) agentIndex(id string) int {
	return slices.IndexFunc(c.agents, func(agent map[string]any) bool { return agent["id"] == id })
}

func (c *Config) unknownAgentError(id string) *Error {
	ids := c.AgentIDs()
	return &Error{Problem: fmt.Sprintf("there is no agent %q; the nearest is %q", id, suggest.Nearest(id, ids)),
		Cure: "the configuration has " + strings.Join(ids, ", ")}
}
