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

// Kind says where a plugin comes from.
type Kind string

// The kinds.
const (
	Bundled   Kind = "bundled"   // beside picoclaw's own binary
	Installed Kind = "installed" // in the store
	Dev       Kind = "dev"       // a build directory that the configuration names
	Builtin   Kind = "own"       // tools of the host's program, in its own process
)

// Sources is where plugins come from. A build directory comes before the store, for the same id.
type Sources struct {
	Bundled string            // the directory beside picoclaw's binary
	Store   *store.Store      // nil for none
	Dev     map[string]string // build directories by id
	// Declared are the digests of what the configuration asks for, by the ids of the plugins that are made of it.
	Declared map[string]string
	// Builtin are families of tools that the host serves itself. They have neither directory nor binary.
	Builtin []*pluginpb.Manifest
}

// Problem is a plugin that is there and can't be offered. The others are offered all the same.
type Problem struct {
	Plugin string // its id
	Err    error
}

// Load reads the plugins from all sources, and what is switched off. Its error is about picoclaw's own plugins: without
// them the installation is broken.
func Load(from Sources) (*Catalog, error) {
	c, err := loadBundled(from.Bundled)
	if err != nil {
		return nil, err
	}
	c.lock = &store.LockFile{}
	for _, m := range from.Builtin {
		if c.plugin(m.ID) != nil {
			return nil, fmt.Errorf("there is a plugin %s already; the host's own tools need another id", m.ID)
		}
		p := newPlugin(m, "")
		p.Kind, p.Binary, p.Digest = Builtin, "", "own "+m.ID
		c.take(p)
	}
	for _, id := range slices.Sorted(maps.Keys(from.Dev)) {
		p, err := loadDir(from.Dev[id], id)
		if err != nil {
			c.problem(id, fmt.Errorf("plugins.%s.dev: %w", id, err))
			continue
		}
		p.Kind = Dev
		c.replace(p)
	}
	if from.Store == nil {
		return c, nil
	}
	lock, err := from.Store.ReadLock()
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
		c.problem("", err)
		return c, nil
	}
	for _, id := range slices.Sorted(maps.Keys(lock.Plugins)) {
		if known := c.plugin(id); known != nil && known.Kind == Dev {
			continue
		}
		err := stale(id, lock.Plugins[id], from.Declared)
		if err == nil {
			err = c.addInstalled(from, id, lock.Plugins[id])
		}
		if err != nil {
			c.problem(id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(from.Declared)) {
		if lock.Plugins[id] == nil {
			c.problem(id, fmt.Errorf("the MCP server %s stands in the configuration and nobody has looked at it; "+
				"`picoclaw mcp trust %s` shows its tools and asks you", id, id))
		}
	}
	return c, nil
}

// stale says why a plugin is not what the configuration asks for, if it isn't.
func stale(id string, pin *store.InstalledPlugin, declared map[string]string) error {
	asked, is := declared[id]
	switch {
	case is && pin.Declared != asked:
		return fmt.Errorf("the MCP server %s stands otherwise in the configuration than it was accepted; "+
			"`picoclaw mcp trust %s` shows what is different and asks you", id, id)
	case !is && pin.Declared != "":
		return fmt.Errorf("the MCP server %s does not stand in the configuration any more; `picoclaw mcp remove %s` removes it",
			id, id)
	}
	return nil
}

func (c *Catalog) problem(id string, err error) {
	c.problems = append(c.problems, Problem{id, err})
}

func (c *Catalog) addInstalled(from Sources, id string, pin *store.InstalledPlugin) error {
	s := from.Store
	if known := c.plugin(id); known != nil {
		return fmt.Errorf("plugin %s comes with picoclaw; an installed one can't take its place", id)
	}
	m, err := s.ReadManifest(id, pin)
	if err != nil {
		return err
	}
	files, err := json.Marshal([]any{pin.Files, pin.Data})
	if err != nil {
		return err
	}
	dir := s.VersionDir(id, pin.Version)
	p := newPlugin(m, dir)
	p.Kind, p.Pin = Installed, pin
	p.Binary = filepath.Join(dir, filepath.FromSlash(pin.Binary))
	p.Digest = fmt.Sprintf("%x", sha256.Sum256(files))
	if pin.Program == "" {
		if err := m.Protocol.Check(); err != nil {
			return fmt.Errorf("plugin %s: %w", id, err)
		}
	} else { // picoclaw's own program, which speaks the current protocol
		m.Protocol = pluginpb.CurrentProtocol()
		p.Binary = filepath.Join(from.Bundled, pin.Program, pluginpb.ProgramName(pin.Program, runtime.GOOS))
		if err := p.identify(); err != nil {
			return fmt.Errorf("plugin %s: %w", id, err)
		}
	}
	return c.add(p)
}

// loadDir reads a plugin that is being made from its build directory, whatever the directory's name is.
func loadDir(dir, id string) (*Plugin, error) {
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
	return p, p.identify()
}

func (c *Catalog) plugin(id string) *Plugin {
	for _, p := range c.plugins {
		if p.Manifest.ID == id {
			return p
		}
	}
	return nil
}

// replace adds a plugin in the place of the bundled one with its id, if there is one.
func (c *Catalog) replace(p *Plugin) {
	id := p.Manifest.ID
	c.plugins = slices.DeleteFunc(c.plugins, func(other *Plugin) bool { return other.Manifest.ID == id })
	maps.DeleteFunc(c.byFull, func(_ string, t *Tool) bool { return t.Plugin.Manifest.ID == id })
	for short, tools := range c.byShort {
		c.byShort[short] = slices.DeleteFunc(tools, func(t *Tool) bool { return t.Plugin.Manifest.ID == id })
	}
	if err := c.add(p); err != nil {
		c.problem(id, err)
	}
}

// Problems lists the plugins that can't be offered. One without an id is about all that are installed.
func (c *Catalog) Problems() []Problem { return slices.Clone(c.problems) }

// LockError returns why no tool is on: the lock file can't be read. It is nil if it could be.
func (c *Catalog) LockError() error { return c.lockErr }

// Off returns what switches a tool off for an agent; nil if nothing does.
func (c *Catalog) Off(t *Tool, agent string) *store.DisabledTool {
	if c.lock == nil {
		return &store.DisabledTool{Plugin: "*"}
	}
	return c.lock.DisabledBy(t.Plugin.Manifest.ID, t.Spec.Name, agent)
}

// Shadowed returns an error if one of a plugin's tools has the name of a tool that comes with picoclaw, or one that MCP
// clients could take for another plugin's: they write a full name with "_". Two others may share a short name: agents
// have to say the full one then.
func (c *Catalog) Shadowed(m *pluginpb.Manifest) error {
	clients := map[string]string{}
	for _, p := range c.plugins {
		for _, t := range p.Tools {
			clients[ClientName(t.FullName())] = p.Manifest.ID
			if p.Kind == Bundled || p.Kind == Builtin {
				clients[t.Spec.Name] = p.Manifest.ID
			}
		}
	}
	for _, t := range m.Tools {
		names := []string{ClientName(m.ID + "." + t.Name)}
		if !m.FullNames {
			names = append(names, t.Name)
		}
		for _, name := range names {
			if other := clients[name]; other != "" && other != m.ID {
				return fmt.Errorf("its tool %s has the name of one of plugin %s's; agents could not tell them apart", t.Name, other)
			}
		}
	}
	return nil
}

// ClientName is a tool's name as MCP clients take it: they do not agree on dots in names.
func ClientName(name string) string { return strings.ReplaceAll(name, ".", "_") }
