package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// InstallPackage adds a package to the store as the plugin's active version, with the grants that it requests. The
// operator must have approved it.
func (s *Store) InstallPackage(p *StagedPackage) error {
	return s.moveIntoStore(p, func(l *LockFile) {
		l.Plugins[p.Manifest.ID] = newInstalledPlugin(p.PluginVersion, p.Manifest)
	})
}

// AddWaitingVersion adds a package to the store as the waiting version of an installed plugin.
func (s *Store) AddWaitingVersion(p *StagedPackage) error {
	return s.moveIntoStore(p, func(l *LockFile) { l.Plugins[p.Manifest.ID].Waiting = &p.PluginVersion })
}

func newInstalledPlugin(v PluginVersion, m *pluginpb.Manifest) *InstalledPlugin {
	return &InstalledPlugin{PluginVersion: v, Grants: m.Grants, Installed: time.Now().UTC().Truncate(time.Second)}
}

// moveIntoStore moves the files of a package into the store, and changes the lock file under the same lock.
func (s *Store) moveIntoStore(p *StagedPackage, change func(*LockFile)) error {
	id, version := p.Manifest.ID, p.Version
	return s.updateLockFile(func(l *LockFile) error {
		to := s.VersionDir(id, version)
		if pin := l.Plugins[id]; pin != nil && pin.Version == version &&
			(!maps.Equal(pin.Files, p.Files) || pin.Data != p.Data) {
			return fmt.Errorf("plugin %s %s is installed already, with other contents; give the new one another version, or remove it first", id, version)
		}
		if err := s.makePrivateDir(filepath.Dir(to)); err != nil {
			return err
		}
		// Files already there are either not in the lock file, or identical.
		if err := removeTree(to); err != nil {
			return err
		}
		if err := os.Rename(p.dir, to); err != nil {
			return fmt.Errorf("put the plugin into the store: %w", err)
		}
		if err := atomicfile.SyncDir(filepath.Dir(to)); err != nil {
			return err
		}
		change(l)
		return nil
	})
}

// ActivateWaitingVersion makes the waiting version of a plugin its active version.
func (s *Store) ActivateWaitingVersion(id string) (*InstalledPlugin, error) {
	var pin *InstalledPlugin
	err := s.updateLockFile(func(l *LockFile) error {
		pin = l.Plugins[id]
		if pin == nil || pin.Waiting == nil {
			return fmt.Errorf("no version of plugin %s waits", id)
		}
		m, err := s.ReadManifest(id, pin.Waiting)
		if err != nil {
			return err
		}
		*pin = *newInstalledPlugin(*pin.Waiting, m)
		return nil
	})
	return pin, err
}

// RemovePlugin removes a plugin with all its versions.
func (s *Store) RemovePlugin(id string) error {
	return s.updateLockFile(func(l *LockFile) error {
		if l.Plugins[id] == nil {
			return fmt.Errorf("plugin %s is not installed", id)
		}
		delete(l.Plugins, id)
		return removeTree(filepath.Join(s.PluginsDir(), id))
	})
}

// RemoveUnusedVersions removes versions that are neither active nor waiting, and staging directories of killed
// processes.
func (s *Store) RemoveUnusedVersions() error {
	return s.updateLockFile(func(l *LockFile) error {
		entries, err := os.ReadDir(s.PluginsDir())
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := filepath.Join(s.PluginsDir(), e.Name())
			info, err := e.Info()
			if err != nil || !e.IsDir() {
				continue
			}
			if !isSafePathElement(e.Name()) {
				if time.Since(info.ModTime()) > time.Hour {
					_ = removeTree(at)
				}
				continue
			}
			s.removeOtherVersions(l.Plugins[e.Name()], at)
		}
		return nil
	})
}

func (s *Store) removeOtherVersions(pin *InstalledPlugin, at string) {
	versions, err := os.ReadDir(at)
	if err != nil || pin == nil {
		return
	}
	for _, v := range versions {
		if v.Name() != pin.Version && (pin.Waiting == nil || v.Name() != pin.Waiting.Version) {
			_ = removeTree(filepath.Join(at, v.Name()))
		}
	}
}

func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// ReadManifest returns the verified manifest of a version of a plugin.
func (s *Store) ReadManifest(id string, v *PluginVersion) (*pluginpb.Manifest, error) {
	data, err := s.ReadVerifiedFile(id, v, pluginpb.ManifestFile)
	if err != nil {
		return nil, err
	}
	m, err := pluginpb.ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", id, err)
	}
	if m.ID != id || m.Version != v.Version {
		return nil, &ChangedFileError{id, pluginpb.ManifestFile}
	}
	return m, nil
}

// ChangedFileError says that a file of an installed plugin differs from the lock file.
type ChangedFileError struct{ Plugin, File string }

func (e *ChangedFileError) Error() string {
	if e.File == DataDir {
		return fmt.Sprintf("plugin %s: its data was changed after it was installed; install it again (`picoclaw mcp update %s` if it "+
			"is an MCP server), and find out who changed it", e.Plugin, e.Plugin)
	}
	return fmt.Sprintf("plugin %s is not started: its %s was changed after it was installed; install it again if that was you "+
		"(`picoclaw plugin remove %s`, then `picoclaw plugin install`), and find out who changed it if not", e.Plugin, e.File,
		e.Plugin)
}

// FormatManifestDiff returns the differences between the tools and grants of two versions as a unified diff; empty if
// they are equal. It ignores versions and programs.
func FormatManifestDiff(old, new *pluginpb.Manifest) (string, error) {
	before, err := manifestDiffText(old)
	if err != nil {
		return "", err
	}
	after, err := manifestDiffText(new)
	if err != nil {
		return "", err
	}
	return udiff.Unified(old.ID+" "+old.Version, new.ID+" "+new.Version, before, after), nil
}

// manifestDiffText returns the part of a manifest that an operator approves, as text for line diffs.
func manifestDiffText(m *pluginpb.Manifest) (string, error) {
	said := map[string]any{"doc": m.Doc, "grants": m.Grants, "config": m.Config}
	for kind, specs := range map[string][]pluginpb.ToolSpec{"tools": m.Tools, "resources": m.Resources, "prompts": m.Prompts} {
		byName := map[string]pluginpb.ToolSpec{}
		for _, t := range specs {
			byName[t.Name] = t
		}
		if kind == "tools" || len(specs) > 0 {
			said[kind] = byName
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	// Decoding normalises the order of names.
	var value any
	if err = json.Unmarshal(text, &value); err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(value)
	return lines.String(), err
}
