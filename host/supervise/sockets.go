package supervise

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// maxSocketDir is how long the directory of a host's sockets may be. A socket's path has to fit into 107 bytes, and
// go-plugin adds up to 38 of its own.
const maxSocketDir = 65

// lockFile is held by the host that owns a socket directory.
const lockFile = "lock"

// socketDir is the directory of one host's plugin sockets: made when first needed, locked while the host lives, and
// swept by a later host if it died without removing it.
type socketDir struct {
	parent string
	logger hclog.Logger

	mu   sync.Mutex
	dir  string
	lock *os.File
}

// path returns the directory, which it makes at the first call.
func (s *socketDir) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	parent, err := s.usableParent()
	if err != nil {
		return "", err
	}
	// Nobody sweeps while somebody is between making a directory and locking it.
	turn, err := filelock.Open(filepath.Join(parent, lockFile), filelock.Wait)
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", parent, err)
	}
	defer func() { _ = turn.Close() }()
	s.sweep(parent)
	dir, err := os.MkdirTemp(parent, "h")
	if err != nil {
		return "", fmt.Errorf("make a directory for plugin sockets: %w", err)
	}
	lock, err := filelock.Open(filepath.Join(dir, lockFile), filelock.Lock)
	if err != nil {
		return "", errors.Join(fmt.Errorf("lock %s: %w", dir, err), os.RemoveAll(dir))
	}
	s.dir, s.lock = dir, lock
	return dir, nil
}

// usableParent returns the run directory, or where its path is too long for sockets one in a temporary directory that
// belongs to this user alone.
func (s *socketDir) usableParent() (string, error) {
	own := fmt.Sprintf("picoclaw-%d", os.Getuid())
	parent := ""
	for _, candidate := range []string{s.parent, filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own)} {
		if len(candidate)+len("/h0123456789") <= maxSocketDir {
			parent = candidate
			break
		}
	}
	if parent == "" {
		return "", fmt.Errorf("%s is too long a path for plugin sockets; give picoclaw a shorter home (PICOCLAW_HOME)",
			s.parent)
	}
	if parent != s.parent {
		s.logger.Debug("the path of the run directory is too long for sockets", "instead", parent)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for plugin sockets: %w", err)
	}
	info, err := os.Lstat(parent)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !ours(info) {
		return "", fmt.Errorf("%s must be a directory that only you can use (chmod 700), because plugin sockets are made in it", parent)
	}
	return parent, nil
}

// sweep removes the directories of hosts that no longer run.
func (s *socketDir) sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		if _, err := os.Lstat(filepath.Join(dir, lockFile)); err != nil {
			continue // somebody else's, who is about to lock it
		}
		lock, err := filelock.Open(filepath.Join(dir, lockFile), filelock.Lock)
		if err != nil {
			continue // its host is alive
		}
		_ = lock.Close() // first: Windows removes no open file
		if err := os.RemoveAll(dir); err != nil {
			s.logger.Warn("a dead host's socket directory stays behind", "dir", dir, "error", err)
		}
	}
}

// close removes the directory.
func (s *socketDir) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	err := s.lock.Close()
	err = errors.Join(err, os.RemoveAll(s.dir))
	s.dir = ""
	return err
}

// checkAddress accepts the address that a plugin printed only if it is a socket in the directory that was made for it,
// or on Windows, where plugins have none, a port of this machine's own. Anything else would have the host dial whatever
// the plugin likes. Who answers there has to have the instance's key, besides.
func checkAddress(goos, socketDir, network, address string) error {
	if goos == "windows" && network == "tcp" {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() {
			return fmt.Errorf("offers the address %q, which is none of this machine's own", address)
		}
		return nil
	}
	if network != "unix" {
		return fmt.Errorf("offers a %s address; only unix sockets are taken", network)
	}
	if filepath.Dir(filepath.Clean(address)) != filepath.Clean(socketDir) {
		return fmt.Errorf("offers the socket %q, which is not in the directory made for it", address)
	}
	info, err := os.Lstat(address)
	if err != nil {
		return fmt.Errorf("offers a socket that can't be found: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("offers %q, which is not a socket", address)
	}
	return nil
}
