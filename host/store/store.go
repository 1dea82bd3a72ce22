// Package store manages installed plugins: their files below <home>/plugins, and the lock file <home>/picoclaw.lock
// with the active version of each plugin, the hashes of its files, its grants, and disabled tools.
//
// Disabled tools are in the lock file, since the configuration file belongs to the user. They can only restrict. A
// running host sees changes at its next call.
//
// The package must not know who may call a tool, how a plugin starts, or how a person is asked.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
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

// lockVersion is the version of the lock file's format.
const lockVersion = 1

// maxLockBytes limits the lock file.
const maxLockBytes = 16 << 20

// LockFile is the content of the lock file, picoclaw.lock.
type LockFile struct {
	Version int                         `json:"version"`
	Plugins map[string]*InstalledPlugin `json:"plugins"`       // by id
	Off     []DisableRule               `json:"off,omitempty"` // disabled tools
}

// InstalledPlugin is the active version of a plugin, with the grants that the operator approved.
type InstalledPlugin struct {
	PluginVersion
	Grants    pluginpb.Grant `json:"grants"` // given by the operator
	Installed time.Time      `json:"installed"`
	Waiting   *PluginVersion `json:"waiting,omitempty"` // another version, which waits for approval
}

// PluginVersion is a version of a plugin in the store.
type PluginVersion struct {
	Version  string            `json:"version"`
	Binary   string            `json:"binary"`             // program for this machine, relative to the version's directory
	Program  string            `json:"program,omitempty"`  // id of a bundled program to run instead
	Files    map[string]string `json:"files"`              // SHA-256 of every file outside data/ by slash-separated path
	Data     string            `json:"data,omitempty"`     // SHA-256 of all data; empty if none
	Agents   []string          `json:"agents,omitempty"`   // approved agents; all if empty
	Source   string            `json:"source"`             // where it was installed from
	Declared string            `json:"declared,omitempty"` // digest of its configuration section; empty without one
	Signer   string            `json:"signer,omitempty"`   // id of the signing key
}

// newLockFile returns an empty lock file in memory.
func newLockFile() *LockFile {
	return &LockFile{Version: lockVersion, Plugins: map[string]*InstalledPlugin{}}
}

// LockFileError says that the lock file is broken, or missing in a home that was used. No tool is enabled until it is
// readable.
type LockFileError struct {
	Path string
	err  error
}

func (e *LockFileError) Error() string {
	return fmt.Sprintf("all tools are off: the plugin lock %s can't be read: %v; restore a copy of it, or create a new one with "+
		"`picoclaw plugin enable '*'`, which enables all tools and lists no installed plugins", e.Path, e.err)
}

// Unwrap returns the cause.
func (e *LockFileError) Unwrap() error { return e.err }

// ReadLockFile returns the content of the lock file, or a *LockFileError. A missing lock file is an error, except in a
// home without an audit log, which was never used.
func (s *Store) ReadLockFile() (*LockFile, error) {
	data, err := smallfile.Read(s.LockFilePath(), maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if !audit.LogExists(s.home) {
			return newLockFile(), nil
		}
		data, err = smallfile.Read(s.LockFilePath(), maxLockBytes) // the first start creates it before the audit log
	}
	lock := &LockFile{}
	if err == nil {
		err = json.Unmarshal(data, lock)
	}
	if err == nil {
		err = lock.validate()
	}
	if err != nil {
		return nil, &LockFileError{s.LockFilePath(), err}
	}
	return lock, nil
}

func (l *LockFile) validate() error {
	if l.Version != lockVersion || l.Plugins == nil {
		return fmt.Errorf("it has format %d; this picoclaw reads format %d", l.Version, lockVersion)
	}
	for id, pin := range l.Plugins {
		if pin == nil || !isSafePathElement(id) || !isSafePathElement(pin.Version) ||
			pin.Program == "" && pin.Files[pin.Binary] == "" || pin.Program != "" && !isSafePathElement(pin.Program) {
			return fmt.Errorf("plugin %q in it is broken", id)
		}
	}
	return nil
}

// CreateLockFile creates the lock file at the first start of a home, before the audit log exists.
func (s *Store) CreateLockFile() error {
	if _, err := os.Lstat(s.LockFilePath()); errors.Is(err, fs.ErrNotExist) && !audit.LogExists(s.home) {
		return s.updateLockFile(func(*LockFile) error { return nil })
	}
	return nil
}

// ResetLockFile replaces an unreadable lock file by an empty one, and keeps the unreadable file under another name.
func (s *Store) ResetLockFile() error {
	var broken *LockFileError
	if _, err := s.ReadLockFile(); !errors.As(err, &broken) {
		return err
	}
	if err := os.Rename(s.LockFilePath(), s.LockFilePath()+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the broken plugin lock: %w", err)
	}
	return s.writeLockFile(newLockFile())
}

func (s *Store) writeLockFile(lock *LockFile) error {
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(s.LockFilePath(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plugin lock: %w", err)
	}
	return nil
}

// updateLockFile reads the lock file, changes it and replaces it, under an inter-process lock.
func (s *Store) updateLockFile(change func(*LockFile) error) error {
	if err := s.makePrivateDir(s.home); err != nil {
		return err
	}
	if err := s.makePrivateDir(s.PluginsDir()); err != nil {
		return err
	}
	turn, err := filelock.OpenLocked(filepath.Join(s.PluginsDir(), ".lock"), filelock.LockWaiting)
	if err != nil {
		return fmt.Errorf("lock the plugin store: %w", err)
	}
	defer func() { _ = turn.Close() }()
	lock, err := s.ReadLockFile()
	if err != nil {
		return err
	}
	if err := change(lock); err != nil {
		return err
	}
	return s.writeLockFile(lock)
}
