package isolation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// etcCopyCache caches copies of the files in /etc that sandboxes see. One mount of the copies replaces thousands of
// slow mounts. The copies are public, read-only in sandboxes, and renewed when the originals change.
type etcCopyCache struct {
	dir string // where the copies are kept

	mu   sync.Mutex
	used map[string]*os.File // by name; locked, so that no other host removes them
}

const (
	etc        = "/etc"
	etcPrefix  = "etc-"
	passwdPath = "/etc/passwd"
	// maxEtcFiles bounds what is copied, in directories and files.
	maxEtcFiles = 4000
)

func newEtcCopyCache(dir string) *etcCopyCache {
	return &etcCopyCache{dir: dir, used: map[string]*os.File{}}
}

// replaceEtcMounts replaces planned mounts in /etc by one mount of the copies. It does nothing if the profile or the
// operator mounts /etc itself.
func (c *etcCopyCache) replaceEtcMounts(v *mountPlanner) error {
	if c == nil {
		return nil
	}
	var parts, rest []plannedMount
	for _, m := range v.mounts {
		switch {
		case !paths.Within(etc, m.target):
			if m.isBind() && paths.Within(m.target, etc) {
				return nil // it is shown as it is
			}
			rest = append(rest, m)
		case m.target == etc:
			return nil // somebody wants something of his own there
		default:
			parts = append(parts, m)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	slices.SortFunc(parts, func(a, b plannedMount) int { return strings.Compare(a.target, b.target) })
	kept := slices.DeleteFunc(slices.Clone(parts), canCopyInsteadOfMount)
	var public []etcEntry
	if v.profile.Exec {
		var err error
		if public, err = listPublicEntries(etc); err != nil {
			return fmt.Errorf("list the files of /etc for sandboxes: %w", err)
		}
	}
	path, err := c.ensureCopiesDir(parts, public)
	if err != nil {
		return fmt.Errorf("copy the files of /etc for sandboxes: %w", err)
	}
	v.mounts = append(append(rest, plannedMount{kind: bindRO, source: path, target: etc}), kept...)
	return nil
}

// canCopyInsteadOfMount reports whether a copy can replace a mount. Files that change while a sandbox runs stay mounts, and so do
// the operator's exposed paths. /etc/passwd stays a mount, so that profiles with different homes share the copies.
func canCopyInsteadOfMount(m plannedMount) bool {
	if m.kind == symlink {
		return true
	}
	if m.origin != fromSystem || m.kind == bindData && m.target == passwdPath {
		return false
	}
	if m.kind != bindRO {
		return true
	}
	info, err := os.Stat(m.source)
	return err == nil && info.IsDir()
}

// ensureCopiesDir returns a directory with copies of these mounts and of the public files in /etc. It creates the directory
// if the cache lacks it.
func (c *etcCopyCache) ensureCopiesDir(parts []plannedMount, public []etcEntry) (string, error) {
	key, err := etcCacheKey(parts, public)
	if err != nil {
		return "", err
	}
	name := etcPrefix + key
	path := filepath.Join(c.dir, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[name] != nil {
		return path, nil
	}
	held, err := lockDirShared(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = c.makeCopies(path, parts, public); err != nil {
			return "", err
		}
		held, err = lockDirShared(path)
	}
	if err != nil {
		return "", err
	}
	c.used[name] = held
	return path, nil
}

// lockDirShared takes a shared lock, which prevents the removal of a directory until the returned file is closed.
func lockDirShared(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	err = filelock.LockSharedWaiting(file)
	if err == nil {
		err = unix.Fstat(int(file.Fd()), &stat)
	}
	if err == nil && stat.Nlink == 0 {
		err = unix.ENOENT // it was cleared away meanwhile
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "hold", Path: path, Err: err}
	}
	return file, nil
}

// makeCopies fills a temporary directory and renames it to path, so that path appears complete.
func (c *etcCopyCache) makeCopies(path string, parts []plannedMount, public []etcEntry) error {
	c.removeUnusedCopies()
	draft, err := os.MkdirTemp(c.dir, "draft-"+etcPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	held, err := lockDirShared(draft)
	if err != nil {
		return err
	}
	defer held.Close()
	root, err := os.OpenRoot(draft)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, m := range parts {
		if err := copyMount(root, m); err != nil {
			return err
		}
	}
	for _, entry := range public {
		if err := copyPublicEntry(root, etc, entry); err != nil {
			return err
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// copyMount copies the content of a mount into root: a symlink, a file or a directory. For mounts that can't be copied
// it creates an empty mount point.
func copyMount(root *os.Root, m plannedMount) error {
	path := relativePath(etc, m.target)
	if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch {
	case m.kind == symlink:
		return root.Symlink(m.source, path)
	case m.kind == bindData:
		return root.WriteFile(path, m.data, 0o444)
	case m.kind == copied:
		data, err := os.ReadFile(m.source)
		if err != nil {
			return err
		}
		return root.WriteFile(path, data, 0o444)
	case canCopyInsteadOfMount(m):
		return os.CopyFS(filepath.Join(root.Name(), path), os.DirFS(m.source))
	}
	if info, err := os.Stat(m.source); err == nil && info.IsDir() {
		return root.MkdirAll(path, 0o755)
	}
	if _, err := root.Lstat(path); err == nil {
		return nil
	}
	return root.WriteFile(path, nil, 0o444)
}

// removeUnusedCopies removes directories of copies that no process has locked.
func (c *etcCopyCache) removeUnusedCopies() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(strings.TrimPrefix(e.Name(), "draft-"), etcPrefix) {
			continue
		}
		path := filepath.Join(c.dir, e.Name())
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if filelock.Lock(file) == nil {
			_ = os.RemoveAll(path)
		}
		file.Close()
	}
}

func (c *etcCopyCache) releaseDirs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, file := range c.used {
		file.Close()
	}
	c.used = nil
}

// etcCacheKey returns a hash of the mounts and of the metadata of the files to copy.
func etcCacheKey(parts []plannedMount, public []etcEntry) (string, error) {
	sum, files := sha256.New(), 0
	for _, entry := range public {
		fmt.Fprintln(sum, entry.stateIdentity())
	}
	for _, m := range parts {
		if !canCopyInsteadOfMount(m) {
			m.data = nil // mounted over the copies
		}
		fmt.Fprintf(sum, "%q %q %q %q\n", m.kind, m.source, m.target, m.data)
		switch {
		case m.kind == copied:
			if err := hashFileIdentity(sum, m.source); err != nil {
				return "", err
			}
		case m.kind == bindRO && canCopyInsteadOfMount(m):
			err := filepath.WalkDir(m.source, func(path string, d fs.DirEntry, err error) error {
				if files++; files > maxEtcFiles {
					return fmt.Errorf("%s contains too many files", m.source)
				}
				if err != nil || !d.IsDir() && !d.Type().IsRegular() {
					return err
				}
				return hashFileIdentity(sum, path)
			})
			if err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// hashFileIdentity adds the path and the metadata of a file or directory to a hash.
func hashFileIdentity(sum hash.Hash, path string) error {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	fmt.Fprintf(sum, "%q %d:%d %o %d %d.%d\n", path, stat.Dev, stat.Ino, stat.Mode, stat.Size, stat.Mtim.Sec,
		stat.Mtim.Nsec)
	return nil
}
