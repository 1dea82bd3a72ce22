// Package config loads the configuration, checks it, and says where each value came from.
//
// Four layers are merged by koanf, the later one winning: the built-in defaults, what a fleet has given this machine (a
// file of that name, see [Options]), one file (JSON with comments, or YAML), and the PICOCLAW_* variables. A flag that
// the caller passes in [Options] stands above them all. What one agent sets for itself stands above what is set for all
// agents, whichever layer either came from, and replaces it: lists are not joined. isolation.expose_paths alone is
// joined, by target.
//
// [Schema] is the table of all keys. The check, the names of the variables, the JSON Schema ([JSONSchema]) and the
// documentation are made from it, so a key that is not in the table does not exist. Whatever is wrong (an unknown
// key, a wrong type, a regular expression that does not compile) is an [Error] that names the place, the full key
// and the cure, and nothing starts; [Check] finds all of them in one go.
//
// The package reads the configuration file and the environment and nothing else. It must not know what a policy
// is, look at workspaces, or know which plugins are installed.
package config

import (
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

// Config is a checked configuration. It doesn't change, and may be used from several goroutines; what its methods
// return belongs to the caller.
type Config struct {
	home      Home
	file      string
	central   string
	agents    []map[string]any // what each agent sets; never empty
	plugins   map[string]Plugin
	exposed   []isolation.ExposePath
	isolation bool // isolation.enabled
	audit     Audit
	log       Log
	signed    Signatures
	protect   Protect
	secrets   map[string]Secret
	servers   map[string]MCPServer
	models    []Model
	gateway   Gateway
	fleet     Fleet
	approvals Approvals
	telemetry Telemetry
	hooks     json.RawMessage
	shared    map[string]any     // what is set for all agents, of the keys that an agent can set
	settings  map[string]Setting // what was set, by the key as it was written

	flagWorkspace Setting // what --workspace names; its zero value for none
	flagAgent     int     // the agent that it is for
}

// take takes the merged layers apart.
func (c *Config) take(merged map[string]any) *Error {
	var all struct {
		Isolation Isolation                 `koanf:"isolation"`
		Plugins   map[string]map[string]any `koanf:"plugins"`
		Audit     Audit                     `koanf:"audit"`
		Log       Log                       `koanf:"log"`
		Signed    Signatures                `koanf:"signatures"`
		Secrets   map[string]map[string]any `koanf:"secrets"`
		Models    []Model                   `koanf:"model_list"`
		Gateway   Gateway                   `koanf:"gateway"`
		Fleet     Fleet                     `koanf:"fleet"`
		Approvals Approvals                 `koanf:"approvals"`
		Telemetry Telemetry                 `koanf:"telemetry"`
		Hooks     map[string]any            `koanf:"hooks"`
		Tools     struct {
			MCP struct {
				Servers map[string]map[string]any `koanf:"servers"`
			} `koanf:"mcp"`
		} `koanf:"tools"`
		Workspace struct {
			Protect Protect `koanf:"protect"`
		} `koanf:"workspace"`
	}
	if err := decode(merged, &all); err != nil {
		return &Error{Problem: err.Error(), err: err}
	}
	c.approvals, c.telemetry = all.Approvals, all.Telemetry
	c.isolation, c.audit, c.log, c.signed = all.Isolation.Enabled, all.Audit, all.Log, all.Signed
	c.protect = all.Workspace.Protect
	c.models, c.gateway, c.fleet = all.Models, all.Gateway, all.Fleet
	var err error
	if c.hooks, err = json.Marshal(all.Hooks); err != nil {
		return &Error{Key: "hooks", Problem: err.Error(), err: err}
	}
	c.exposed = lastForTarget(all.Isolation.ExposePaths)
	c.plugins = make(map[string]Plugin, len(all.Plugins))
	for id, values := range all.Plugins {
		plugin := Plugin{Enabled: true}
		if err := decode(values, &plugin); err != nil {
			return &Error{Key: "plugins." + id, Problem: err.Error(), err: err}
		}
		_, plugin.Granted = values["grants"]
		c.plugins[id] = plugin
	}
	if err := c.takeSecrets(all.Secrets); err != nil {
		return err
	}
	c.servers = make(map[string]MCPServer, len(all.Tools.MCP.Servers))
	for name, values := range all.Tools.MCP.Servers {
		server := MCPServer{Enabled: true, Workspace: "none"}
		if err := decode(values, &server); err != nil {
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

// takeSecrets takes what is said of secrets: each comes from one place.
func (c *Config) takeSecrets(all map[string]map[string]any) *Error {
	c.secrets = make(map[string]Secret, len(all))
	for name, values := range all {
		var s Secret
		s.As.Header, s.As.Value = "Authorization", "Bearer {{secret}}"
		key := "secrets." + name
		if err := decode(values, &s); err != nil {
			return &Error{Key: key, Problem: err.Error(), err: err}
		}
		places := 0
		for _, has := range []bool{s.From.Env != "", s.From.File != "", len(s.From.Command) > 0} {
			if has {
				places++
			}
		}
		switch {
		case taken(name):
			return &Error{Key: key, Problem: fmt.Sprintf("commands need %s for something else", name),
				Cure: "give the secret another name"}
		case places == 0:
			return &Error{Key: key + ".from", Problem: "does not say where the value comes from",
				Cure: "set one of env, file and command"}
		case places > 1:
			return &Error{Key: key + ".from", Problem: "has the value come from several places",
				Cure: "set one of env, file and command"}
		case !strings.Contains(s.As.Value, "{{secret}}"):
			return &Error{Key: key + ".as.value", Problem: fmt.Sprintf("%q has no place for the value", s.As.Value),
				Cure: `write {{secret}} where it belongs, as in "Bearer {{secret}}"`}
		}
		c.secrets[name] = s
	}
	return nil
}

// taken reports whether a variable means something to programs, so that it can't stand for a secret.
func taken(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains([]string{"PATH", "HOME", "SHELL", "USER", "TMPDIR", "IFS", "ENV", "BASH_ENV"}, upper) ||
		strings.HasPrefix(upper, "LD_") || strings.HasSuffix(upper, "_PROXY") || strings.HasPrefix(upper, "PICOCLAW_")
}

// decode fills a struct from values that were checked before, by its koanf tags. It is koanf's own way of doing that
// without the deep copy which koanf makes first.
func decode(values map[string]any, out any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{TagName: "koanf", Result: out})
	if err == nil {
		err = decoder.Decode(values)
	}
	if err != nil {
		return fmt.Errorf("decoding the configuration: %w", err)
	}
	return nil
}

// lastForTarget fills in what a rule leaves out and keeps the last rule for each target.
func lastForTarget(rules []isolation.ExposePath) []isolation.ExposePath {
	out := make([]isolation.ExposePath, 0, len(rules))
	for _, rule := range rules {
		if rule.Target == "" {
			rule.Target = rule.Source
		}
		if rule.Mode == "" {
			rule.Mode = "ro"
		}
		out = slices.DeleteFunc(out, func(earlier isolation.ExposePath) bool { return earlier.Target == rule.Target })
		out = append(out, rule)
	}
	return out
}

// Home returns the instance root.
func (c *Config) Home() Home { return c.home }

// File returns the absolute path of the configuration file; empty when there is none.
func (c *Config) File() string { return c.file }

// Central returns the path of what a fleet has given this machine; empty when there is none.
func (c *Config) Central() string { return c.central }

// IsolationEnabled reports isolation.enabled.
func (c *Config) IsolationEnabled() bool { return c.isolation }

// Audit returns how calls are recorded.
func (c *Config) Audit() Audit { return c.audit }

// Log returns what is logged, and how.
func (c *Config) Log() Log { return c.log }

// Signatures returns whose signatures on plugins count, and whether one is required.
func (c *Config) Signatures() Signatures { return c.signed }

// Protect returns which paths in workspaces are protected.
func (c *Config) Protect() Protect { return c.protect }

// Secrets returns what is used without being held, by name.
func (c *Config) Secrets() map[string]Secret { return maps.Clone(c.secrets) }

// MCPServers returns the MCP servers that are asked for, by name.
func (c *Config) MCPServers() map[string]MCPServer { return maps.Clone(c.servers) }

// AgentIDs returns the ids of the agents, the default one first. It is never empty.
func (c *Config) AgentIDs() []string {
	ids := make([]string, 0, len(c.agents))
	for _, agent := range c.agents {
		ids = append(ids, agent["id"].(string))
	}
	return ids
}

// PluginIDs returns the sorted ids of the plugins that the configuration speaks of, the bundled ones included.
// Whether they are installed is for the caller to know.
func (c *Config) PluginIDs() []string {
	ids := make([]string, 0, len(c.plugins))
	for id := range c.plugins {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Plugin returns what the operator decided about a plugin. One that the configuration does not speak of is enabled
// and is granted nothing.
func (c *Config) Plugin(id string) Plugin {
	plugin, ok := c.plugins[id]
	if !ok {
		return Plugin{Enabled: true}
	}
	plugin.Grants.Env = slices.Clone(plugin.Grants.Env)
	plugin.Config = cloneFree(plugin.Config)
	if plugin.Network != nil {
		network := *plugin.Network
		plugin.Network = &network
	}
	return plugin
}

// cloneFree copies a free object with everything in it.
func cloneFree(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	return cloneValue(m).(map[string]any)
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = cloneValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = cloneValue(value)
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, value := range v {
			out[i] = cloneFree(value)
		}
		return out
	case []string:
		return slices.Clone(v)
	default:
		return v
	}
}

// defaultWorkspace returns the path of a workspace in the instance root. Only a fallback home is relative, and the
// working directory, if it can be found, makes it absolute.
func (c *Config) defaultWorkspace(name string) string {
	path := filepath.Join(c.home.Path, name)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// indexOf returns the place of an agent in the list; -1 when there is no such agent.
func (c *Config) indexOf(id string) int {
	return slices.IndexFunc(c.agents, func(agent map[string]any) bool { return agent["id"] == id })
}

func (c *Config) unknownAgent(id string) *Error {
	ids := c.AgentIDs()
	return &Error{Problem: fmt.Sprintf("there is no agent %q; the nearest is %q", id, suggest.Nearest(id, ids)),
		Cure: "the configuration has " + strings.Join(ids, ", ")}
}
