package catalog

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PluginOrigin says where a plugin comes from.
type PluginOrigin string

// The kinds.
const (
	BundledPlugin   PluginOrigin = "bundled"   // next to picoclaw's binary
	InstalledPlugin PluginOrigin = "installed" // in the store
	DevPlugin       PluginOrigin = "dev"       // in a configured build directory
	BuiltinPlugin   PluginOrigin = "own"       // served by the host itself
)

// PluginSources are the directories with plugins. A build directory replaces the installed plugin with its id.
type PluginSources struct {
	Bundled string            // directory next to picoclaw's binary
	Store   *store.Store      // may be nil
	Dev     map[string]string // build directories by id
	// Declared are digests of the configured MCP servers, by plugin id.
	Declared map[string]string
	// Builtin are the manifests of built-in plugins, which have no directory or binary.
	Builtin []*pluginpb.Manifest
}

// PluginProblem explains why a plugin can't be offered. It does not affect other plugins.
type PluginProblem struct {
	Plugin string // its id; empty for all installed plugins
	Err    error
}

// ToError returns an error that names the plugin.
func (p PluginProblem) ToError() error {
	if p.Plugin == "" {
		return fmt.Errorf("no installed plugin is offered: %w", p.Err)
	}
	return fmt.Errorf("plugin %s is not offered: %w", p.Plugin, p.Err)
}

// LoadCatalog loads the plugins from all sources, and the list of disabled tools. It returns an error only for bundled
// plugins, whose problems mean a broken installation.
func LoadCatalog(from PluginSources) (*Catalog, error) {
	c, err := loadBundled(from.Bundled)
	if err != nil {
		return nil, err
	}
	c.lock = &store.LockFile{}
	for _, m := range from.Builtin {
		if c.findPlugin(m.ID) != nil {
			return nil, fmt.Errorf("plugin %s already exists; built-in tools need another id", m.ID)
		}
		p := newPlugin(m, "")
		p.Kind, p.Binary, p.Digest = BuiltinPlugin, "", "own "+m.ID
		c.indexPlugin(p)
	}
	for _, id := range slices.Sorted(maps.Keys(from.Dev)) {
		p, loadErr := loadBuildDir(from.Dev[id], id)
		if loadErr != nil {
			c.addProblem(id, fmt.Errorf("plugins.%s.dev: %w", id, loadErr))
			continue
		}
		p.Kind = DevPlugin
		c.replacePlugin(p)
	}
	if from.Store == nil {
		return c, nil
	}
	lock, err := from.Store.ReadLockFile()
	if err == nil {
		c.lock = lock
		if len(lock.Plugins) > 0 {
			err = from.Store.CheckPermissions()
		}
	}
	if err != nil {
		if lock == nil {
			c.lock, c.lockErr = nil, err
		}
		c.addProblem("", err)
		return c, nil
	}
	for _, id := range slices.Sorted(maps.Keys(lock.Plugins)) {
		if known := c.findPlugin(id); known != nil && known.Kind == DevPlugin {
			continue
		}
		err := checkMatchesConfig(id, lock.Plugins[id], from.Declared)
		if err == nil {
			err = c.addInstalledPlugin(from, id, lock.Plugins[id])
		}
		if err != nil {
			c.addProblem(id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(from.Declared)) {
		if lock.Plugins[id] == nil {
			c.addProblem(id, fmt.Errorf("the MCP server %s is configured but was never inspected; "+
				"`picoclaw mcp trust %s` shows its tools and asks you", id, id))
		}
	}
	return c, nil
}

// checkMatchesConfig returns an error if an installed plugin differs from its section in the configuration.
func checkMatchesConfig(id string, pin *store.InstalledPlugin, declared map[string]string) error {
	asked, is := declared[id]
	switch {
	case is && pin.Declared != asked:
		return fmt.Errorf("the MCP server %s was changed in the configuration since it was accepted; "+
			"`picoclaw mcp trust %s` shows the differences and asks", id, id)
	case !is && pin.Declared != "":
		return fmt.Errorf("the MCP server %s is no longer in the configuration; `picoclaw mcp remove %s` removes it",
			id, id)
	}
	return nil
}

func (c *Catalog) addProblem(id string, err error) {
	c.problems = append(c.problems, PluginProblem{id, err})
}

func (c *Catalog) addInstalledPlugin(from PluginSources, id string, pin *store.InstalledPlugin) error {
	s := from.Store
	if known := c.findPlugin(id); known != nil {
		return fmt.Errorf("plugin %s is built in and can't be replaced", id)
	}
	m, err := s.ReadManifest(id, &pin.PluginVersion)
	if err != nil {
		return err
	}
	files, err := json.Marshal([]any{pin.Files, pin.Data})
	if err != nil {
		return err
	}
	dir := s.VersionDir(id, pin.Version)
	p := newPlugin(m, dir)
	p.Kind, p.Pin = InstalledPlugin, pin
	p.Binary = filepath.Join(dir, filepath.FromSlash(pin.Binary))
	p.Digest = fmt.Sprintf("%x", sha256.Sum256(files))
	if pin.Program == "" {
		if err := m.Protocol.Check(); err != nil {
			return fmt.Errorf("plugin %s: %w", id, err)
		}
	} else { // bundled programs use the current protocol
		m.Protocol = pluginpb.CurrentProtocol()
		p.Binary = filepath.Join(from.Bundled, pin.Program, pluginpb.PluginProgramName(pin.Program, runtime.GOOS))
		if err := p.setDigest(); err != nil {
			return fmt.Errorf("plugin %s: %w", id, err)
		}
	}
	return c.addPlugin(p)
}

// loadBuildDir loads a plugin from its build directory, whose name need not be the id.
func loadBuildDir(dir, id string) (*Plugin, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the directory %s does not exist; build the plugin, or name the directory that has its %s",
			dir, pluginpb.ManifestFile)
	}
	p, err := readPlugin(dir)
	if err != nil {
		return nil, err
	}
	if p.Manifest.ID != id {
		return nil, fmt.Errorf("%s has the plugin %s", dir, p.Manifest.ID)
	}
	return p, p.setDigest()
}

func (c *Catalog) findPlugin(id string) *Plugin {
	for _, p := range c.plugins {
		if p.Manifest.ID == id {
			return p
		}
	}
	return nil
}

// replacePlugin adds a plugin in place of the bundled plugin with the same id.
func (c *Catalog) replacePlugin(p *Plugin) {
	id := p.Manifest.ID
	c.plugins = slices.DeleteFunc(c.plugins, func(other *Plugin) bool { return other.Manifest.ID == id })
	maps.DeleteFunc(c.byFull, func(_ string, t *Tool) bool { return t.Plugin.Manifest.ID == id })
	for short, tools := range c.byShort {
		c.byShort[short] = slices.DeleteFunc(tools, func(t *Tool) bool { return t.Plugin.Manifest.ID == id })
	}
	if err := c.addPlugin(p); err != nil {
		c.addProblem(id, err)
	}
}

// Problems returns the plugins that can't be offered, and why. A problem without an id concerns all installed plugins.
func (c *Catalog) Problems() []PluginProblem { return slices.Clone(c.problems) }

// LockFileError returns the error of an unreadable lock file, which disables all tools; nil if the file is readable.
func (c *Catalog) LockFileError() error { return c.lockErr }

// FindToolDisableRule returns the entry that disables a tool for an agent; nil if it is enabled.
func (c *Catalog) FindToolDisableRule(t *Tool, agent string) *store.DisableRule {
	if c.lock == nil {
		return &store.DisableRule{Plugin: "*"}
	}
	return c.lock.FindDisableRule(t.Plugin.Manifest.ID, t.Spec.Name, agent)
}

// CheckToolNameConflicts returns an error if a plugin's tool has the name of a bundled or built-in tool, or the same
// name for MCP clients as another tool; see ToolNameForClients. Plugins may share other short names. Agents must then
// use full names.
func (c *Catalog) CheckToolNameConflicts(m *pluginpb.Manifest) error {
	clients := map[string]string{}
	for _, p := range c.plugins {
		for _, t := range p.Tools {
			clients[ToolNameForClients(t.FullName())] = p.Manifest.ID
			if p.Kind == BundledPlugin || p.Kind == BuiltinPlugin {
				clients[t.Spec.Name] = p.Manifest.ID
			}
		}
	}
	for _, t := range m.Tools {
		names := []string{ToolNameForClients(m.ID + "." + t.Name)}
		if !m.FullNames {
			names = append(names, t.Name)
		}
		for _, name := range names {
			if other := clients[name]; other != "" && other != m.ID {
				return fmt.Errorf("its tool %s has the same name as a tool of plugin %s; agents could not distinguish them", t.Name, other)
			}
		}
	}
	return nil
}

// ToolNameForClients returns a tool's name for MCP clients, with "_" for ".", which some clients don't allow.
func ToolNameForClients(name string) string { return strings.ReplaceAll(name, ".", "_") }
