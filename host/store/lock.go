package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// lockVersion is the version of the lock file's format.
const lockVersion = 1

// maxLockBytes bounds what is read of the lock file.
const maxLockBytes = 16 << 20

// Lock is what the lock file says.
type Lock struct {
	Version int             `json:"version"`
	Plugins map[string]*Pin `json:"plugins"`       // by id
	Off     []Off           `json:"off,omitempty"` // what is switched off
}

// Pin is one installed plugin: the version that runs, and what was accepted when it was installed.
type Pin struct {
	Version   string            `json:"version"`
	Binary    string            `json:"binary"`             // the program's path below the version's directory
	Program   string            `json:"program,omitempty"`  // in place of that, one that comes with picoclaw
	Files     map[string]string `json:"files"`              // the SHA-256 of every file, by its path with slashes
	Data      string            `json:"data,omitempty"`     // the SHA-256 of all that is below data/
	Agents    []string          `json:"agents,omitempty"`   // the only ones that it is for; all if there are none
	Grants    pluginpb.Grant    `json:"grants"`             // what the operator has given
	Source    string            `json:"source"`             // where it was installed from
	Declared  string            `json:"declared,omitempty"` // the digest of what the configuration asked for; empty if it did not
	Signer    string            `json:"signer,omitempty"`   // the id of the key that signed it
	Installed time.Time         `json:"installed"`
	Waiting   *Waiting          `json:"waiting,omitempty"`
}

// Waiting is another version of an installed plugin that is in the store and waits for the operator's yes.
type Waiting struct {
	Version  string            `json:"version"`
	Binary   string            `json:"binary"`
	Program  string            `json:"program,omitempty"`
	Agents   []string          `json:"agents,omitempty"`
	Files    map[string]string `json:"files"`
	Data     string            `json:"data,omitempty"`
	Declared string            `json:"declared,omitempty"`
	Source   string            `json:"source"`
	Signer   string            `json:"signer,omitempty"`
}

func newLock() *Lock { return &Lock{Version: lockVersion, Plugins: map[string]*Pin{}} }

// LockError is the error of a lock file that says nothing: it is broken, or missing from a home in use. Every tool is off
// until it is there.
type LockError struct {
	Path string
	err  error
}

func (e *LockError) Error() string {
	return fmt.Sprintf("all tools are off: the plugin lock %s can't be read: %v; put back a copy of it, or begin a new one with "+
		"`picoclaw plugin enable '*'`, which switches all tools on and has no installed plugin", e.Path, e.err)
}

// Unwrap returns the cause.
func (e *LockError) Unwrap() error { return e.err }

// Read returns the contents of the lock file, or a *LockError. A home without an audit log needs none: its lock is empty.
func (s *Store) Read() (*Lock, error) {
	data, err := smallfile.Read(s.LockFile(), maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if !audit.LogExists(s.home) {
			return newLock(), nil
		}
		data, err = smallfile.Read(s.LockFile(), maxLockBytes) // the first start writes it before the audit log
	}
	lock := &Lock{}
	if err == nil {
		err = json.Unmarshal(data, lock)
	}
	if err == nil {
		err = lock.check()
	}
	if err != nil {
		return nil, &LockError{s.LockFile(), err}
	}
	return lock, nil
}

func (l *Lock) check() error {
	if l.Version != lockVersion || l.Plugins == nil {
		return fmt.Errorf("it has format %d; this picoclaw reads format %d", l.Version, lockVersion)
	}
	for id, pin := range l.Plugins {
		if pin == nil || !safeElement(id) || !safeElement(pin.Version) ||
			pin.Program == "" && pin.Files[pin.Binary] == "" || pin.Program != "" && !safeElement(pin.Program) {
			return fmt.Errorf("plugin %q in it is broken", id)
		}
	}
	return nil
}

// Prepare writes the lock file of a home at its first start, before the audit log exists.
func (s *Store) Prepare() error {
	if _, err := os.Lstat(s.LockFile()); errors.Is(err, fs.ErrNotExist) && !audit.LogExists(s.home) {
		return s.update(func(*Lock) error { return nil })
	}
	return nil
}

// Renew replaces a lock file that can't be read by an empty one, and keeps it beside.
func (s *Store) Renew() error {
	var broken *LockError
	if _, err := s.Read(); !errors.As(err, &broken) {
		return err
	}
	if err := os.Rename(s.LockFile(), s.LockFile()+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the broken plugin lock: %w", err)
	}
	return s.write(newLock())
}

func (s *Store) write(lock *Lock) error {
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.LockFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plugin lock: %w", err)
	}
	return nil
}

// update changes the lock file: read, changed and replaced in one turn, which processes take one after the other.
func (s *Store) update(change func(*Lock) error) error {
	if err := s.makeDir(s.home); err != nil {
		return err
	}
	if err := s.makeDir(s.dir()); err != nil {
		return err
	}
	turn, err := filelock.Open(filepath.Join(s.dir(), ".lock"), filelock.Wait)
	if err != nil {
		return fmt.Errorf("lock the plugin store: %w", err)
	}
	defer func() { _ = turn.Close() }()
	lock, err := s.Read()
	if err != nil {
		return err
	}
	if err := change(lock); err != nil {
		return err
	}
	return s.write(lock)
}
