package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// makeWhitelistedParents creates missing parents of a whitelisted path and opens the target. The parents must be
// whitelisted too. tried is the original error; it is returned if missing parents are not its cause.
func (tx *changeTransaction) makeWhitelistedParents(c FileChange, tried error) (*changeTarget, error) {
	abs, err := tx.w.AbsPath(c.Path)
	if err != nil {
		return nil, tried
	}
	real, err := tx.w.resolveSymlinks(true, abs)
	if err != nil || !tx.w.isWhitelisted(guard.Write, real) {
		return nil, tried
	}
	var wanted []string // innermost first
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if tx.w.findAllowedRoot(guard.Write, dir) == nil && !tx.w.isWhitelisted(guard.Write, dir) {
			return nil, &Error{Code: NoDirectory, Path: dir}
		}
		wanted = append(wanted, dir)
	}
	if len(wanted) == 0 {
		return nil, tried
	}
	if _, err := c.Change(&OldFile{Path: real, asked: c.Path}); err != nil {
		return nil, err
	}
	if tx.dry {
		return &changeTarget{path: real, written: c.Path}, nil
	}
	for _, dir := range slices.Backward(wanted) {
		if err := tx.w.withTarget(guard.Write, dir, tx.makeWhitelistedDir); err != nil {
			return nil, err
		}
	}
	return tx.w.openTargetParent(guard.Write, c.Path)
}

// makeWhitelistedDir creates one directory unless it exists.
func (tx *changeTransaction) makeWhitelistedDir(at accessTarget) error {
	dir, err := at.dir.OpenRoot(".") // the place's handle closes earlier
	if err != nil {
		return err
	}
	err = dir.Mkdir(at.name, newDirMode)
	if err == nil {
		tx.createdDirs = append(tx.createdDirs, createdDir{root: dir, name: at.name, own: true})
		return nil
	}
	_ = dir.Close()
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
