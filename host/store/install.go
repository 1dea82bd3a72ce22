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

// Install puts a package into the store and makes it the version that runs, with what it asks for granted. Call it
// when the operator has said yes.
func (s *Store) Install(p *Package) error {
	return s.place(p, func(l *Lock) {
		l.Plugins[p.Manifest.ID] = &Pin{
			Version: p.Manifest.Version, Binary: p.Binary, Program: p.Program, Files: p.Files, Data: p.Data, Grants: p.Manifest.Grants,
			Agents: p.Agents, Declared: p.Declared, Source: p.Source, Signer: p.Signer, Installed: time.Now().UTC().Truncate(time.Second),
		}
	})
}

// Hold puts a package into the store beside the version that runs, to wait for the operator's yes.
func (s *Store) Hold(p *Package) error {
	return s.place(p, func(l *Lock) {
		l.Plugins[p.Manifest.ID].Waiting = &Waiting{
			Version: p.Manifest.Version, Binary: p.Binary, Program: p.Program, Files: p.Files, Data: p.Data,
			Agents: p.Agents, Declared: p.Declared, Source: p.Source, Signer: p.Signer,
		}
	})
}

// place moves a package's files into the store and changes the lock in the same turn.
func (s *Store) place(p *Package, change func(*Lock)) error {
	id, version := p.Manifest.ID, p.Manifest.Version
	return s.update(func(l *Lock) error {
		to := s.Dir(id, version)
		if pin := l.Plugins[id]; pin != nil && pin.Version == version &&
			(!maps.Equal(pin.Files, p.Files) || pin.Data != p.Data) {
			return fmt.Errorf("plugin %s %s is installed already, with other contents; give the new one another version, or remove it first", id, version)
		}
		if err := s.makeDir(filepath.Dir(to)); err != nil {
			return err
		}
		// What is there under this version is not what the lock speaks of, or is the same.
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

// Accept makes the waiting version of a plugin the one that runs.
func (s *Store) Accept(id string) (*Pin, error) {
	var pin *Pin
	err := s.update(func(l *Lock) error {
		pin = l.Plugins[id]
		if pin == nil || pin.Waiting == nil {
			return fmt.Errorf("no version of plugin %s waits", id)
		}
		m, err := s.manifest(id, pin.Waiting.Version, pin.Waiting.Files)
		if err != nil {
			return err
		}
		w := pin.Waiting
		*pin = Pin{Version: w.Version, Binary: w.Binary, Program: w.Program, Files: w.Files, Data: w.Data,
			Grants: m.Grants, Agents: w.Agents, Declared: w.Declared, Source: w.Source, Signer: w.Signer,
			Installed: time.Now().UTC().Truncate(time.Second)}
		return nil
	})
	return pin, err
}

// Remove takes a plugin out of the store, with all its versions.
func (s *Store) Remove(id string) error {
	return s.update(func(l *Lock) error {
		if l.Plugins[id] == nil {
			return fmt.Errorf("plugin %s is not installed", id)
		}
		delete(l.Plugins, id)
		return removeTree(filepath.Join(s.dir(), id))
	})
}

// Sweep removes what is in the store and no longer needed: other versions, and staging directories of processes that
// were killed.
func (s *Store) Sweep() error {
	return s.update(func(l *Lock) error {
		entries, err := os.ReadDir(s.dir())
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := filepath.Join(s.dir(), e.Name())
			info, err := e.Info()
			if err != nil || !e.IsDir() {
				continue
			}
			if !safeElement(e.Name()) {
				if time.Since(info.ModTime()) > time.Hour {
					_ = removeTree(at)
				}
				continue
			}
			s.sweepVersions(l.Plugins[e.Name()], at)
		}
		return nil
	})
}

func (s *Store) sweepVersions(pin *Pin, at string) {
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

// removeTree removes a directory whose files can't be written to.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// Manifest reads the manifest of a plugin's version that runs, and checks that it is the one that was installed.
func (s *Store) Manifest(id string, pin *Pin) (*pluginpb.Manifest, error) {
	return s.manifest(id, pin.Version, pin.Files)
}

// WaitingManifest reads the manifest of the version that waits.
func (s *Store) WaitingManifest(id string, pin *Pin) (*pluginpb.Manifest, error) {
	return s.manifest(id, pin.Waiting.Version, pin.Waiting.Files)
}

func (s *Store) manifest(id, version string, files map[string]string) (*pluginpb.Manifest, error) {
	path := filepath.Join(s.Dir(id, version), pluginpb.ManifestFile)
	data, err := readBounded(path, maxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w; install it again, or remove it with `picoclaw plugin remove %s`", id, err, id)
	}
	if hash(data) != files[pluginpb.ManifestFile] {
		return nil, changed(id, pluginpb.ManifestFile)
	}
	m, err := pluginpb.ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", id, err)
	}
	if m.ID != id || m.Version != version {
		return nil, changed(id, pluginpb.ManifestFile)
	}
	return m, nil
}

// Changed is the error for a file of an installed plugin that is not what was installed.
type Changed struct{ Plugin, File string }

func (e *Changed) Error() string {
	if e.File == DataDir {
		return fmt.Sprintf("plugin %s: its data was changed after it was installed; install it again (`picoclaw mcp update %s` if it "+
			"is an MCP server), and find out who it was", e.Plugin, e.Plugin)
	}
	return fmt.Sprintf("plugin %s is not started: its %s was changed after it was installed; install it again if that was you "+
		"(`picoclaw plugin remove %s`, then `picoclaw plugin install`), and find out who it was if not", e.Plugin, e.File,
		e.Plugin)
}

func changed(id, file string) error { return &Changed{id, file} }

// Diff returns what is different in what two versions of a plugin offer and ask for, as a unified diff; empty if
// nothing is. Their versions and programs are not part of it.
func Diff(old, new *pluginpb.Manifest) (string, error) {
	before, err := definition(old)
	if err != nil {
		return "", err
	}
	after, err := definition(new)
	if err != nil {
		return "", err
	}
	return udiff.Unified(old.ID+" "+old.Version, new.ID+" "+new.Version, before, after), nil
}

// definition is what an operator says yes to, in a form that can be compared by lines.
func definition(m *pluginpb.Manifest) (string, error) {
	tools := map[string]pluginpb.Spec{}
	for _, t := range m.Tools {
		tools[t.Name] = t
	}
	text, err := json.Marshal(map[string]any{"doc": m.Doc, "grants": m.Grants, "tools": tools, "config": m.Config})
	if err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	// By way of a value, so that the order of names is the same whoever wrote them.
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", fmt.Errorf("compare plugin %s: %w", m.ID, err)
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(value)
	return lines.String(), err
}
