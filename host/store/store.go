// Package store manages installed plugins: their files below <home>/plugins, and the lock file <home>/picoclaw.lock
// with the active version of each plugin, the hashes of its files, its grants, and disabled tools.
//
// Disabled tools are in the lock file, since the configuration file belongs to the user. They can only restrict. A
// running host sees changes at its next call.
//
// The package must not know who may call a tool, how a plugin starts, or how a person is asked.
package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store manages the installed plugins of a home. Several processes may use it concurrently.
type Store struct{ home string }

// NewStore returns the store of a home. It creates nothing.
func NewStore(home string) *Store { return &Store{home: home} }

// LockFilePath returns the path of the lock file.
func (s *Store) LockFilePath() string { return filepath.Join(s.home, "picoclaw.lock") }

// VersionDir returns the directory of a plugin version.
func (s *Store) VersionDir(id, version string) string {
	return filepath.Join(s.PluginsDir(), id, version)
}

// PluginsDir returns the directory that contains all installed plugins.
func (s *Store) PluginsDir() string { return filepath.Join(s.home, "plugins") }

func (s *Store) makePrivateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the plugin store: %w", err)
	}
	return nil
}

// CheckPermissions returns an error if other users can write to the store, and so could add programs.
func (s *Store) CheckPermissions() error {
	for _, path := range []string{s.home, s.PluginsDir(), s.LockFilePath()} {
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := checkOnlyOwnerWrites(path, info); err != nil {
			return err
		}
	}
	return nil
}

// isSafePathElement reports whether a name is safe as a single element of a path.
func isSafePathElement(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 128 && !strings.ContainsAny(name, "/\\\x00") &&
		!strings.HasPrefix(name, ".")
}
