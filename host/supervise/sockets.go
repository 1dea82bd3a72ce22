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

// maxSocketDir limits a socket directory's path: a socket's path has at most 107 bytes, of which go-plugin adds 38.
const maxSocketDir = 65

// lockFile is the name of the lock file in a socket directory. The host that owns the directory locks it.
const lockFile = "lock"

// socketDir is the directory of one host's plugin sockets. It is created when needed, and locked while the host lives.
// Another host removes it if this host dies.
type socketDir struct {
	parent string
	logger hclog.Logger

	mu   sync.Mutex
	dir  string
	lock *os.File
}

// ensureDir returns the directory. The first call creates it.
func (s *socketDir) ensureDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	parent, err := s.chooseParentDir()
	if err != nil {
		return "", err
	}
	// Prevent sweeps between creating a directory and locking it.
	parentLock, err := filelock.OpenLocked(filepath.Join(parent, lockFile), filelock.LockWaiting)
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", parent, err)
	}
	defer func() { _ = parentLock.Close() }()
	s.removeStaleDirs(parent)
	dir, err := os.MkdirTemp(parent, "h")
	if err != nil {
		return "", fmt.Errorf("create a directory for plugin sockets: %w", err)
	}
	lock, err := filelock.OpenLocked(filepath.Join(dir, lockFile), filelock.Lock)
	if err != nil {
		return "", errors.Join(fmt.Errorf("lock %s: %w", dir, err), os.RemoveAll(dir))
	}
	s.dir, s.lock = dir, lock
	return dir, nil
}

// chooseParentDir returns the run directory of PICOCLAW_HOME. If its path is too long for sockets, it returns a
// private temporary directory.
func (s *socketDir) chooseParentDir() (string, error) {
	name := fmt.Sprintf("picoclaw-%d", os.Getuid())
	parent := ""
	for _, candidate := range []string{s.parent, filepath.Join(os.TempDir(), name), filepath.Join("/tmp", name)} {
		if len(candidate)+len("/h0123456789") <= maxSocketDir {
			parent = candidate
			break
		}
	}
	if parent == "" {
		return "", fmt.Errorf("%s is too long a path for plugin sockets; set PICOCLAW_HOME to a shorter path",
			s.parent)
	}
	if parent != s.parent {
		s.logger.Debug("the path of the run directory is too long for sockets", "instead", parent)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", fmt.Errorf("create a directory for plugin sockets: %w", err)
	}
	info, err := os.Lstat(parent)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !isPrivateDir(info) {
		return "", fmt.Errorf("%s must be a directory that only you can access (chmod 700), because it holds plugin sockets", parent)
	}
	return parent, nil
}

// removeStaleDirs removes the socket directories of hosts that have ended.
func (s *socketDir) removeStaleDirs(parent string) {
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
			continue // another host is about to lock it
		}
		lock, err := filelock.OpenLocked(filepath.Join(dir, lockFile), filelock.Lock)
		if err != nil {
			continue // its host is running
		}
		_ = lock.Close() // close first: Windows can't remove open files
		if err := os.RemoveAll(dir); err != nil {
			s.logger.Warn("the socket directory of an ended host could not be removed", "dir", dir, "error", err)
		}
	}
}

func (s *socketDir) removeDir() error {
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

// checkPluginAddress returns an error unless the address that a plugin printed is a socket in the plugin's own
// directory, or a loopback address on Windows. Otherwise a plugin could make the host connect to any address.
func checkPluginAddress(goos, socketDir, network, address string) error {
	if goos == "windows" && network == "tcp" {
		addr, err := netip.ParseAddrPort(address)
		if err != nil || !addr.Addr().IsLoopback() {
			return fmt.Errorf("offers the address %q, which is not a loopback address", address)
		}
		return nil
	}
	if network != "unix" {
		return fmt.Errorf("offers a %s address; only unix sockets are accepted", network)
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
