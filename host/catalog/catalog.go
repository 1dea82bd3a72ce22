// Package catalog lists plugins and tools from their manifests. It executes nothing.
//
// Schemas are parsed on first use, so that listing tools or starting plugins does not need them.
//
// It must not know who may use tools, how a plugin starts, or how calls are decided.
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

// maxManifestBytes limits a plugin.json.
const maxManifestBytes = 4 << 20

// Catalog is the immutable set of a host's plugins and tools. It is safe for concurrent use.
type Catalog struct {
	plugins  []*Plugin
	byFull   map[string]*Tool
	byShort  map[string][]*Tool
	problems []PluginProblem
	lock     *store.LockFile // nil if unreadable
	lockErr  error           // reason
}

// Plugin is an installed plugin.
type Plugin struct {
	Manifest *pluginpb.Manifest
	Kind     PluginOrigin
	Dir      string                 // absolute path of its directory
	Binary   string                 // absolute path
	Digest   string                 // identifies the manifest and the binary, or all files of an installed plugin
	Pin      *store.InstalledPlugin // lock entry of an installed plugin; nil for others
	Tools    []*Tool
	Features []*Tool // resources and prompts
}

// Tool is a tool, resource or prompt of a plugin.
type Tool struct {
	Plugin *Plugin
	Spec   *pluginpb.ToolSpec
	Kind   string // such as [pluginpb.ToolKind]

	prepare func() (*ArgumentSchema, error)
}

// FullName returns the name with the plugin's id, such as "filesystem.read_file" or "prompt:notes.summary".
func (t *Tool) FullName() string {
	return pluginpb.CallNamePrefix(t.Kind) + t.Plugin.Manifest.ID + "." + t.Spec.Name
}

// CallName returns the name that calls to the plugin use.
func (t *Tool) CallName() string { return pluginpb.CallNamePrefix(t.Kind) + t.Spec.Name }

// ArgumentSchema is the parsed schema of a tool's arguments.
type ArgumentSchema struct {
	Reader *pluginpb.ArgumentParser
	Claims []pluginpb.ClaimedArgument
}

// ArgumentSchema returns the parsed schema of the arguments. It is parsed on first use.
func (t *Tool) ArgumentSchema() (*ArgumentSchema, error) { return t.prepare() }

// loadBundled loads the plugins in a directory. Each subdirectory with a manifest (plugin.json) is a plugin. The
// subdirectory and the binary in it have the plugin's id as name. A broken plugin is an error.
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
			err = fmt.Errorf("its %s is of plugin %s; rename the directory to this name", pluginpb.ManifestFile,
				p.Manifest.ID)
		}
		if err == nil {
			err = p.setDigest()
		}
		if err == nil {
			p.Kind = BundledPlugin
			err = c.addPlugin(p)
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

// readPlugin reads a plugin's manifest without verifying the plugin.
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

// setDigest computes and stores the digest of manifest and binary.
func (p *Plugin) setDigest() (err error) {
	binary, err := fingerprintBinary(p.Binary)
	p.Digest = binary + " " + p.Digest
	return err
}

func newPlugin(m *pluginpb.Manifest, dir string) *Plugin {
	p := &Plugin{Manifest: m, Dir: dir, Binary: filepath.Join(dir, pluginpb.PluginProgramName(m.ID, runtime.GOOS))}
	for i := range m.Tools {
		p.Tools = append(p.Tools, newTool(p, &m.Tools[i], pluginpb.ToolKind))
	}
	for i := range m.Resources {
		p.Features = append(p.Features, newTool(p, &m.Resources[i], pluginpb.ResourceKind))
	}
	for i := range m.Prompts {
		p.Features = append(p.Features, newTool(p, &m.Prompts[i], pluginpb.PromptKind))
	}
	return p
}

// fingerprintBinary returns text that changes with the binary. The binary must be executable, and not writable by all.
func fingerprintBinary(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("its binary is missing: %w; install the plugin again, or remove the directory", err)
	}
	modes := runtime.GOOS != "windows"
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("its binary %s is not a file", path)
	case modes && info.Mode().Perm()&0o111 == 0:
		return "", fmt.Errorf("its binary %s is not executable; run `chmod +x` on it", path)
	case modes && info.Mode().Perm()&0o002 != 0:
		return "", fmt.Errorf("its binary %s is writable by every user; run `chmod o-w` on it", path)
	}
	return fmt.Sprintf("%s:%d:%d", fileID(info), info.Size(), info.ModTime().UnixNano()), nil
}

func newTool(p *Plugin, spec *pluginpb.ToolSpec, kind string) *Tool {
	return &Tool{
		Plugin: p,
		Spec:   spec,
		Kind:   kind,
		prepare: sync.OnceValues(func() (*ArgumentSchema, error) {
			reader, claims, err := spec.CompileInputSchema()
			return &ArgumentSchema{reader, claims}, err
		}),
	}
}

// addPlugin adds a plugin. It returns an error if a tool of the plugin imitates picoclaw's.
func (c *Catalog) addPlugin(p *Plugin) error {
	if p.Kind != BundledPlugin {
		if err := c.CheckToolNameConflicts(p.Manifest); err != nil {
			return err
		}
	}
	c.indexPlugin(p)
	return nil
}

func (c *Catalog) indexPlugin(p *Plugin) {
	c.plugins = append(c.plugins, p)
	slices.SortFunc(c.plugins, func(a, b *Plugin) int { return cmp.Compare(a.Manifest.ID, b.Manifest.ID) })
	for _, t := range p.Tools {
		c.byFull[t.FullName()] = t
		if !p.Manifest.FullNames {
			c.byShort[t.Spec.Name] = append(c.byShort[t.Spec.Name], t)
		}
	}
	for _, t := range p.Features {
		c.byFull[t.FullName()] = t
	}
}

// Plugins returns the plugins, sorted by id.
func (c *Catalog) Plugins() []*Plugin { return slices.Clone(c.plugins) }

// Tools returns all tools, sorted by full name.
func (c *Catalog) Tools() []*Tool { return c.collectTools(func(p *Plugin) []*Tool { return p.Tools }) }

// ResourcesAndPrompts returns all resources and prompts, sorted by full name.
func (c *Catalog) ResourcesAndPrompts() []*Tool {
	return c.collectTools(func(p *Plugin) []*Tool { return p.Features })
}

// collectTools calls choose for each plugin, and returns the tools sorted by full name.
func (c *Catalog) collectTools(choose func(*Plugin) []*Tool) []*Tool {
	var all []*Tool
	for _, p := range c.plugins {
		all = append(all, choose(p)...)
	}
	slices.SortFunc(all, func(a, b *Tool) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return all
}

// FindTools returns the tools with a name: at most one for a full name, or all that share a short name.
func (c *Catalog) FindTools(name string) []*Tool {
	if strings.Contains(name, ".") {
		if t := c.byFull[name]; t != nil {
			return []*Tool{t}
		}
		return nil
	}
	return slices.Clone(c.byShort[name])
}
