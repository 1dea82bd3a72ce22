package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// exactParents makes the missing directories above a whitelisted path, each of which has to be whitelisted itself,
// and opens the target there. tried is the error that there was without them, which is returned where they are not
// what is wrong.
func (tx *transaction) exactParents(e Edit, tried error) (*target, error) {
	abs, err := tx.w.Abs(e.Path)
	if err != nil {
		return nil, tried
	}
	real, err := tx.w.resolveAs(true, abs)
	if err != nil || !tx.w.whitelisted(guard.Write, real) {
		return nil, tried
	}
	var wanted []string // the innermost first
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if tx.w.find(guard.Write, dir) == nil && !tx.w.whitelisted(guard.Write, dir) {
			return nil, &Error{Code: NoDirectory, Path: dir}
		}
		wanted = append(wanted, dir)
	}
	if len(wanted) == 0 {
		return nil, tried
	}
	if _, err := e.Change(&Old{Path: real, asked: e.Path}); err != nil {
		return nil, err
	}
	if tx.dry {
		return &target{path: real, asked: e.Path}, nil
	}
	for _, dir := range slices.Backward(wanted) {
		if err := tx.w.use(guard.Write, dir, tx.makeExact); err != nil {
			return nil, err
		}
	}
	return tx.w.target(guard.Write, e.Path)
}

// makeExact makes one directory, if nobody else has meanwhile.
func (tx *transaction) makeExact(at place) error {
	dir, err := at.dir.OpenRoot(".") // the place's own is open no longer than it is in use
	if err != nil {
		return err
	}
	err = dir.Mkdir(at.name, newDir)
	if err == nil {
		tx.made = append(tx.made, madeDir{root: dir, name: at.name, own: true})
		return nil
	}
	_ = dir.Close()
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
