package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

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

// Read returns what the lock file says; an empty lock if there is none.
func (s *Store) Read() (*Lock, error) {
	lock := &Lock{Version: lockVersion, Plugins: map[string]*Pin{}}
	data, err := smallfile.Read(s.LockFile(), maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the plugin lock %s can't be read: %w", s.LockFile(), err)
	}
	if err := json.Unmarshal(data, lock); err != nil {
		return nil, fmt.Errorf("the plugin lock %s is broken: %w; put back a copy of it, or remove it and install the plugins again",
			s.LockFile(), err)
	}
	if lock.Version != lockVersion {
		return nil, fmt.Errorf("the plugin lock %s has format %d; this picoclaw reads format %d", s.LockFile(), lock.Version,
			lockVersion)
	}
	for id, pin := range lock.Plugins {
		if pin == nil || !safeElement(id) || !safeElement(pin.Version) ||
			pin.Program == "" && pin.Files[pin.Binary] == "" || pin.Program != "" && !safeElement(pin.Program) {
			return nil, fmt.Errorf("the plugin lock %s is broken at plugin %q; remove it there and install it again",
				s.LockFile(), id)
		}
	}
	return lock, nil
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
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.LockFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plugin lock: %w", err)
	}
	return nil
}
