// Package store keeps the plugins that an operator has installed: their files below <home>/plugins, and the lock file
// <home>/picoclaw.lock, which says which version of each is the one that runs, what every file of it must be, what the
// operator has granted it, and what is switched off.
//
// What an operator switches off stands in the lock file and not in the configuration, whose file is people's own. It
// can only take away. A host that runs sees it at its next call.
//
// It must not know who may call a tool, how a plugin is started, or how a person is asked.
package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store is the installed plugins of one instance root. Several processes may use it at once.
type Store struct{ home string }

// Open returns the store of an instance root. It makes nothing.
func Open(home string) *Store { return &Store{home: home} }

// LockFile is the path of the lock file.
func (s *Store) LockFile() string { return filepath.Join(s.home, "picoclaw.lock") }

// Dir is where a version of a plugin is.
func (s *Store) Dir(id, version string) string { return filepath.Join(s.dir(), id, version) }

func (s *Store) dir() string { return filepath.Join(s.home, "plugins") }

// Path is the directory that all plugins are below.
func (s *Store) Path() string { return s.dir() }

// makeDir makes a directory that is its owner's alone.
func (s *Store) makeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the plugin store: %w", err)
	}
	return nil
}

// Guarded says what is wrong with the store's place, if anything is: whoever can write there can put programs in.
func (s *Store) Guarded() error {
	for _, path := range []string{s.home, s.dir(), s.LockFile()} {
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := onlyOurs(path, info); err != nil {
			return err
		}
	}
	return nil
}

// safeElement reports whether a name can be one element of a path, and nothing else.
func safeElement(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 128 && !strings.ContainsAny(name, "/\\\x00") &&
		!strings.HasPrefix(name, ".")
}
