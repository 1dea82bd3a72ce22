// Package catalog knows which plugins and tools there are, from their manifests alone: it runs nothing.
//
// A schema in a manifest stays text until somebody needs it: to connect, or to start a plugin, takes no reading of
// schemas.
//
// It must not know who may use them, how a plugin is started, or what a call decides.
package catalog

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxManifestBytes bounds what is read of a plugin.json.
const maxManifestBytes = 4 << 20

// Catalog is the plugins and tools that are installed. It does not change and may be used concurrently.
type Catalog struct {
	plugins  []*Plugin
	byFull   map[string]*Tool
	byShort  map[string][]*Tool
	problems []Problem
	lock     *store.LockFile // nil if it can't be read
	lockErr  error           // why
}

// Plugin is an installed plugin.
type Plugin struct {
	Manifest *pluginpb.Manifest
	Kind     Kind
	Dir      string                 // absolute path of its directory
	Binary   string                 // absolute path
	Digest   string                 // identifies what was found: of an installed plugin, all its files
	Pin      *store.InstalledPlugin // what the lock says of an installed plugin; nil for others
	Tools    []*Tool
}

// Tool is one tool of an installed plugin.
type Tool struct {
	Plugin *Plugin
	Spec   *pluginpb.Spec

	prepare func() (*Arguments, error)
}

// FullName is the plugin's id and the tool's name, such as "filesystem.read_file".
func (t *Tool) FullName() string { return t.Plugin.Manifest.ID + "." + t.Spec.Name }

// Arguments is what a tool's schema says of its arguments.
type Arguments struct {
	Reader *pluginpb.ArgumentReader
	Claims []pluginpb.Site
}

// Arguments returns what the tool's schema says of its arguments. The schema is read at the first use.
func (t *Tool) Arguments() (*Arguments, error) { return t.prepare() }

// loadBundled reads the plugins in a directory: one subdirectory each, named by the plugin's id, holding its manifest
// (plugin.json) and its binary, named by the id too. A directory without a manifest is not a plugin; a plugin that is
// broken is an error, because an operator who put it there wants to know.
func loadBundled(dir string) (*Catalog, error) {
	c := &Catalog{byFull: make(map[string]*Tool), byShort: make(map[string][]*Tool)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no plugins: the directory %s, beside picoclaw's binary, does not exist; run `make build`, "+
				"or unpack picoclaw's archive as a whole", dir)
		}
		return nil, fmt.Errorf("read the plugin directory: %w", err)
	}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		if _, err := os.Lstat(filepath.Join(at, pluginpb.ManifestFile)); err != nil {
			continue
		}
		p, err := readPlugin(at)
		if err == nil && p.Manifest.ID != entry.Name() {
			err = fmt.Errorf("its %s is that of plugin %s; the directory has to have that name", pluginpb.ManifestFile,
				p.Manifest.ID)
		}
		if err == nil {
			err = p.identify()
		}
		if err == nil {
			p.Kind = Bundled
			err = c.add(p)
		}
		if err != nil {
			return nil, fmt.Errorf("plugin in %s: %w", at, err)
		}
	}
	if len(c.plugins) == 0 {
		return nil, fmt.Errorf("no plugins in %s; run `make build`, or unpack picoclaw's archive as a whole", dir)
	}
	return c, nil
}

// readPlugin reads a plugin's manifest, for which nothing but its place vouches.
func readPlugin(dir string) (*Plugin, error) {
	data, err := smallfile.Read(filepath.Join(dir, pluginpb.ManifestFile), maxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", pluginpb.ManifestFile, err)
	}
	m, err := pluginpb.ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("its %s: %w; have the plugin's binary print it again, with `describe`", pluginpb.ManifestFile,
			err)
	}
	if err := m.Protocol.Check(); err != nil {
		return nil, err
	}
	p := newPlugin(m, dir)
	p.Digest = fmt.Sprintf("%x", sha256.Sum256(data))
	return p, nil
}

// identify looks at the binary: it and the manifest are what tells this plugin from another.
func (p *Plugin) identify() (err error) {
	binary, err := identify(p.Binary)
	p.Digest = binary + " " + p.Digest
	return err
}

func newPlugin(m *pluginpb.Manifest, dir string) *Plugin {
	p := &Plugin{Manifest: m, Dir: dir, Binary: filepath.Join(dir, pluginpb.ProgramName(m.ID, runtime.GOOS))}
	for i := range m.Tools {
		p.Tools = append(p.Tools, newTool(p, &m.Tools[i]))
	}
	return p
}

// identify checks that a binary can be run and that nobody but its owner could have changed it, and returns what
// tells it from another.
func identify(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("its binary is missing: %w; install the plugin again, or remove the directory", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("its binary %s is not a file", path)
	case !runnable(info):
		return "", fmt.Errorf("its binary %s is not executable; run `chmod +x` on it", path)
	case changeable(info):
		return "", fmt.Errorf("its binary %s can be changed by everybody on this machine; run `chmod o-w` on it", path)
	}
	return fmt.Sprintf("%s:%d:%d", fileID(info), info.Size(), info.ModTime().UnixNano()), nil
}

func newTool(p *Plugin, spec *pluginpb.Spec) *Tool {
	return &Tool{
		Plugin: p,
		Spec:   spec,
		prepare: sync.OnceValues(func() (*Arguments, error) {
			reader, claims, err := spec.Arguments()
			return &Arguments{reader, claims}, err
		}),
	}
}

// add adds a plugin, unless its tools pass themselves off as picoclaw's own.
func (c *Catalog) add(p *Plugin) error {
	if p.Kind != Bundled {
		if err := c.Shadowed(p.Manifest); err != nil {
			return err
		}
	}
	c.take(p)
	return nil
}

func (c *Catalog) take(p *Plugin) {
	c.plugins = append(c.plugins, p)
	slices.SortFunc(c.plugins, func(a, b *Plugin) int { return cmp.Compare(a.Manifest.ID, b.Manifest.ID) })
	for _, t := range p.Tools {
		c.byFull[t.FullName()] = t
		if !p.Manifest.FullNames {
			c.byShort[t.Spec.Name] = append(c.byShort[t.Spec.Name], t)
		}
	}
}

// Plugins lists the plugins, sorted by id.
func (c *Catalog) Plugins() []*Plugin { return slices.Clone(c.plugins) }

// Tools lists all tools, sorted by full name.
func (c *Catalog) Tools() []*Tool {
	var all []*Tool
	for _, p := range c.plugins {
		all = append(all, p.Tools...)
	}
	slices.SortFunc(all, func(a, b *Tool) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return all
}

// Find returns the tools that a name can mean: one for a full name, several for a short name that plugins share.
func (c *Catalog) Find(name string) []*Tool {
	if strings.Contains(name, ".") {
		if t := c.byFull[name]; t != nil {
			return []*Tool{t}
		}
		return nil
	}
	return slices.Clone(c.byShort[name])
}
