package session

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// CrashReportDir returns the directory of plugin crash reports below a home.
func CrashReportDir(home string) string { return filepath.Join(home, "logs", "crashes") }

// pluginSnapshot is the immutable set of plugins at one state of the lock file.
type pluginSnapshot struct {
	catalog *catalog.Catalog
	lock    fs.FileInfo // nil without a lock file
}

func (h *Host) pluginSources() catalog.PluginSources {
	from := catalog.PluginSources{Bundled: h.options.PluginDir, Store: h.store, Dev: map[string]string{}, Declared: map[string]string{},
		Builtin: builtinManifests(h.options.Builtin)}
	for name, server := range h.options.Config.MCPServers() {
		from.Declared[name] = server.Digest()
	}
	for _, id := range h.options.Config.PluginIDs() {
		if dev := h.options.Config.Plugin(id).Dev; dev != "" {
			from.Dev[id] = dev
		}
	}
	return from
}

// loadPlugins reads the plugins from their sources and the lock file.
func (h *Host) loadPlugins() (*pluginSnapshot, error) {
	v := &pluginSnapshot{lock: h.lockFileInfo()}
	var err error
	if v.catalog, err = catalog.LoadCatalog(h.pluginSources()); err != nil {
		return nil, err
	}
	for _, p := range v.catalog.Problems() {
		h.logger.Error("plugins are unavailable", "plugin", p.Plugin, "error", p.Err)
	}
	return v, nil
}

// lockFileInfo returns the file information of the lock file, to detect changes; nil if the file is missing.
func (h *Host) lockFileInfo() fs.FileInfo {
	if h.store == nil {
		return nil
	}
	info, _ := os.Stat(h.store.LockFilePath())
	return info
}

func isSameFileState(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// PluginCatalog returns the current plugins. It reloads them after an operator has installed, removed, enabled or
// disabled a plugin. Instances of removed or updated plugins finish their calls and exit.
func (h *Host) PluginCatalog() *catalog.Catalog {
	v := h.pluginView.Load()
	if isSameFileState(v.lock, h.lockFileInfo()) {
		return v.catalog
	}
	h.reloadMu.Lock()
	defer h.reloadMu.Unlock()
	if v = h.pluginView.Load(); isSameFileState(v.lock, h.lockFileInfo()) {
		return v.catalog
	}
	fresh, err := h.loadPlugins()
	if err != nil {
		h.logger.Error("the plugins can't be read again; those known so far are offered", "error", err)
		return v.catalog
	}
	h.pluginView.Store(fresh)
	h.stopRetiredInstances(fresh.catalog)
	return fresh.catalog
}

// AllTools returns the tools of all plugins by full name, including tools that no agent may call.
func (h *Host) AllTools() []Tool {
	var tools []Tool
	for _, t := range h.PluginCatalog().Tools() {
		tools = append(tools, Tool{Name: t.FullName(), Plugin: t.Plugin.Manifest.ID, Spec: t.Spec})
	}
	return tools
}

// stopRetiredInstances stops the instances of plugins that are removed, updated, or disabled for their agent.
func (h *Host) stopRetiredInstances(c *catalog.Catalog) {
	h.mu.Lock()
	m := h.runtime
	h.mu.Unlock()
	if m == nil {
		return
	}
	digests := map[string]bool{}
	for _, p := range c.Plugins() {
		digests[p.Digest] = true
	}
	m.supervisor.StopUnwanted(func(spec *supervise.InstanceSpec) bool {
		if !digests[spec.Digest] {
			return false
		}
		// An agent's own instance ends when its last tool is disabled.
		return slices.ContainsFunc(c.Tools(), func(t *catalog.Tool) bool {
			return t.Plugin.Digest == spec.Digest && c.FindToolDisableRule(t, spec.Policy.Agent) == nil
		})
	})
}

// pluginPollInterval is how often a serving host checks whether its plugins have changed.
const pluginPollInterval = 500 * time.Millisecond

// WatchPluginChanges returns a channel that receives a value after each change of plugins, disabled tools or withdrawn
// tools, until done is closed.
func (h *Host) WatchPluginChanges(done <-chan struct{}) <-chan struct{} {
	changes := make(chan struct{}, 1)
	go func() {
		tick := time.NewTicker(pluginPollInterval)
		defer tick.Stop()
		last, gone := h.PluginCatalog(), h.withdrawn.addedCount()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if now, number := h.PluginCatalog(), h.withdrawn.addedCount(); now != last || number != gone {
				last, gone = now, number
				select {
				case changes <- struct{}{}:
				default: // a notification is pending already
				}
			}
		}
	}()
	return changes
}

// pluginLoadError returns the error that prevents offering a plugin; nil if it is offered.
func pluginLoadError(c *catalog.Catalog, id string) error {
	for _, p := range c.Problems() {
		if p.Plugin == id || p.Plugin == "" {
			return p.Err
		}
	}
	return nil
}

func pluginProblemsText(c *catalog.Catalog) string {
	var all []string
	for _, p := range c.Problems() {
		all = append(all, p.ToError().Error())
	}
	return strings.Join(all, "\n")
}

// PluginStatus describes a plugin for one agent: whether the agent may use it, the plugin's grants and its tools.
type PluginStatus struct {
	Plugin  string
	Version string
	Kind    catalog.PluginOrigin
	Enabled bool
	// Grants are the grants in effect: requested, granted at install, and allowed by the agent's policy.
	Grants pluginpb.Grant
	Tools  []ToolStatus
}

// ToolStatus says whether an agent may call a tool, and which rule disables it.
type ToolStatus struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Rule    string `json:"rule,omitempty"` // the rule that disables it
	Reason  string `json:"reason,omitempty"`
}

// PluginStatuses returns the status of every plugin for the session's agent.
func (s *Session) PluginStatuses() []PluginStatus {
	c := s.host.PluginCatalog()
	var all []PluginStatus
	for _, p := range c.Plugins() {
		given := s.pluginPolicy(p)
		h := PluginStatus{
			Plugin: p.Manifest.ID, Version: p.Manifest.Version, Kind: p.Kind, Enabled: given.Enabled,
			Grants: given.Grants.Intersect(p.Manifest.Grants),
		}
		for _, t := range p.Tools {
			held := ToolStatus{Name: t.Spec.Name, Enabled: s.isToolEnabled(c, t)}
			if !held.Enabled {
				held.Rule, held.Reason = s.toolDisabledReason(c, t)
			}
			h.Tools = append(h.Tools, held)
		}
		all = append(all, h)
	}
	return all
}

// toolDisabledReason returns the rule that disables a tool for the agent, and the reason as a sentence.
func (s *Session) toolDisabledReason(c *catalog.Catalog, t *catalog.Tool) (rule, reason string) {
	d := s.policy.DecideTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets)
	if d.Verdict == guard.Allow {
		if off := c.FindToolDisableRule(t, s.policy.AgentID()); off != nil {
			return "plugin disable", "the operator has switched off " + off.String()
		}
	}
	return d.Rule, d.Reason
}

// CheckPluginConfig checks the operator's settings for an installed plugin against its schema. The error does not name
// plugins.<id>.config.
func (h *Host) CheckPluginConfig(id string) error {
	set := h.options.Config.Plugin(id).Config
	if len(set) == 0 {
		return nil
	}
	settings, err := json.Marshal(set)
	if err != nil {
		return err
	}
	for _, p := range h.PluginCatalog().Plugins() {
		if p.Manifest.ID == id {
			return checkSettingsAgainstSchema(p.Manifest, settings)
		}
	}
	return nil
}

func checkSettingsAgainstSchema(m *pluginpb.Manifest, settings json.RawMessage) error {
	if len(settings) == 0 {
		return nil
	}
	if m.Config == nil {
		return rejectAnySettings(settings)
	}
	schema, err := m.Config.Parse()
	if err != nil {
		return fmt.Errorf("the schema can't be read: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("the schema is not usable: %w", err)
	}
	var value any
	if err = json.Unmarshal(settings, &value); err != nil {
		return err
	}
	err = resolved.Validate(value)
	if err == nil {
		return nil
	}
	if unknown := checkUnknownKey(schema, value, ""); unknown != nil {
		return unknown
	}
	return err
}

// rejectAnySettings returns an error if there are settings, for a plugin without a config schema.
func rejectAnySettings(settings json.RawMessage) error {
	var set map[string]json.RawMessage
	if err := json.Unmarshal(settings, &set); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		return fmt.Errorf("unknown key %q; the plugin has no settings", name)
	}
	return nil
}

// checkUnknownKey returns an error, with a similar key, for a key that a closed schema does not have.
func checkUnknownKey(schema *jsonschema.Schema, value any, at string) error {
	object, ok := value.(map[string]any)
	if !ok || len(schema.Properties) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner := schema.Properties[name]; inner != nil {
			if err := checkUnknownKey(inner, object[name], at+name+"."); err != nil {
				return err
			}
			continue
		}
		if schema.AdditionalProperties != nil {
			return fmt.Errorf("unknown key %q; the nearest is %q", at+name, at+suggest.Nearest(name, known))
		}
	}
	return nil
}
