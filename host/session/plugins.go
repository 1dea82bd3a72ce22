package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/supervise"
)

// CrashDir is where crashes of plugins are noted, below an instance root.
func CrashDir(home string) string { return filepath.Join(home, "logs", "crashes") }

// view is the plugins as they were when the lock file was read last. It does not change.
type view struct {
	catalog *catalog.Catalog
	lock    fs.FileInfo // nil where there is no lock file
}

// sources says where this host's plugins come from.
func (h *Host) sources() catalog.Sources {
	from := catalog.Sources{Bundled: h.pluginDir, Store: h.store, Dev: map[string]string{}, Builtin: manifests(h.builtin)}
	for name, server := range h.config.MCPServers() {
		if from.Declared == nil {
			from.Declared = map[string]string{}
		}
		from.Declared[name] = server.Digest()
	}
	for _, id := range h.config.PluginIDs() {
		if dev := h.config.Plugin(id).Dev; dev != "" {
			from.Dev[id] = dev
		}
	}
	return from
}

// load reads the plugins.
func (h *Host) load() (*view, error) {
	v := &view{lock: h.lockInfo()}
	var err error
	if v.catalog, err = catalog.Load(h.sources()); err != nil {
		return nil, err
	}
	for _, p := range v.catalog.Problems() {
		h.logger.Error("plugins are unavailable", "plugin", p.Plugin, "error", p.Err)
	}
	return v, nil
}

// lockInfo tells one state of the lock file from another.
func (h *Host) lockInfo() fs.FileInfo {
	if h.store == nil {
		return nil
	}
	info, err := os.Stat(h.store.LockFile())
	if err != nil {
		return nil
	}
	return info
}

func sameState(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// plugins returns the plugins as they are now: what an operator installs, removes or switches takes effect at the next
// look. An instance of what is gone or was updated finishes its calls and ends.
func (h *Host) plugins() *catalog.Catalog {
	v := h.seen.Load()
	if sameState(v.lock, h.lockInfo()) {
		return v.catalog
	}
	h.reading.Lock()
	defer h.reading.Unlock()
	if v = h.seen.Load(); sameState(v.lock, h.lockInfo()) {
		return v.catalog
	}
	fresh, err := h.load()
	if err != nil {
		h.logger.Error("the plugins can't be read again; those known so far are offered", "error", err)
		return v.catalog
	}
	h.seen.Store(fresh)
	h.retire(fresh.catalog)
	return fresh.catalog
}

// Installed lists all tools of all plugins, by full name, whoever may call them.
func (h *Host) Installed() []Tool {
	var tools []Tool
	for _, t := range h.plugins().Tools() {
		tools = append(tools, Tool{Name: t.FullName(), Plugin: t.Plugin.Manifest.ID, Spec: t.Spec})
	}
	return tools
}

// Plugins returns the plugins as they are now.
func (h *Host) Plugins() *catalog.Catalog { return h.plugins() }

// retire ends what runs and is not offered to anybody any more.
func (h *Host) retire(c *catalog.Catalog) {
	h.mu.Lock()
	m := h.ran
	h.mu.Unlock()
	if m == nil {
		return
	}
	digests := map[string]bool{}
	for _, p := range c.Plugins() {
		digests[p.Digest] = true
	}
	m.supervisor.StopUnwanted(func(spec *supervise.Spec) bool {
		if !digests[spec.Digest] {
			return false
		}
		// Whoever has an instance of his own loses it with the last of its tools.
		for _, t := range c.Tools() {
			if t.Plugin.Digest == spec.Digest && c.Off(t, spec.Policy.Agent) == nil {
				return true
			}
		}
		return false
	})
}

// watchInterval is how often a host that serves somebody looks whether its plugins have changed.
const watchInterval = 500 * time.Millisecond

// Changes sends whenever the plugins, or what is switched off, may have changed, until done is closed.
func (h *Host) Changes(done <-chan struct{}) <-chan struct{} {
	changes := make(chan struct{}, 1)
	go func() {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		last, gone := h.plugins(), h.gone.number()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if now, number := h.plugins(), h.gone.number(); now != last || number != gone {
				last, gone = now, number
				select {
				case changes <- struct{}{}:
				default: // one is waiting already
				}
			}
		}
	}()
	return changes
}

// pluginProblem returns why a plugin is not offered, if it can't be.
func pluginProblem(c *catalog.Catalog, id string) error {
	for _, p := range c.Problems() {
		if p.Plugin == id || p.Plugin == "" {
			return p.Err
		}
	}
	return nil
}

// problems says in one text what is not offered.
func problems(c *catalog.Catalog) string {
	var all []error
	for _, p := range c.Problems() {
		all = append(all, fmt.Errorf("plugin %s is not offered: %w", p.Plugin, p.Err))
	}
	if err := errors.Join(all...); err != nil {
		return err.Error()
	}
	return ""
}
