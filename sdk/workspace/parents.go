package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// createdDir is a parent directory that a transaction created.
type createdDir struct {
	root *os.Root
	name string
	own  bool // close root with the transaction
}

// removeEmpty removes the directory if it is empty.
func (d createdDir) removeEmpty() { _ = d.root.Remove(d.name) }

// makeParents creates missing parent directories, each in the previous one, and opens the target. Resolving each
// directory from the top would take hours for very long paths.
func (tx *changeTransaction) makeParents(at accessTarget, asked string) (*changeTarget, error) {
	step := at
	above, base := filepath.Split(at.name)
	name := ""
	for _, element := range strings.Split(filepath.Clean(above), string(filepath.Separator)) {
		name = filepath.Join(name, element)
		err := step.dir.Mkdir(element, newDirMode)
		if err == nil {
			tx.createdDirs = append(tx.createdDirs, createdDir{root: at.dir, name: name})
		}
		var next *os.Root
		if err == nil || os.IsExist(err) {
			next, err = step.dir.OpenRoot(element)
		}
		if step.dir != at.dir {
			_ = step.dir.Close()
		}
		if err != nil {
			return nil, err
		}
		step.dir = next
	}
	step.name = base
	t, err := step.openTargetParent(asked)
	if err != nil {
		_ = step.dir.Close()
		return nil, err
	}
	t.own, t.path = true, at.fullPath()
	return t, nil
}

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
		if err := tx.w.withAllowedTarget(guard.Write, dir, tx.makeWhitelistedDir); err != nil {
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
