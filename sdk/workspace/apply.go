package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ApplyChanges applies all changes or none. Each file has its old or its new contents at any time, even if the process is
// killed. If it is killed between two files, only the first one is changed. A lock serialises changes in one directory,
// also between processes. Changes of one file are applied in order.
//
// If last is not nil, it is called with the computed changes while the files are locked and unchanged. Its error
// cancels all changes. It runs in another goroutine while the new contents are written to temporary files.
func (w *Workspace) ApplyChanges(last func([]PlannedChange) error, changes ...FileChange) (err error) {
	tx := changeTransaction{w: w}
	defer func() { tx.cleanUp(!IsNoChangeError(err)) }()
	if err := tx.prepareChanges(changes); err != nil {
		return err
	}
	if err := tx.stageNewContents(last); err != nil {
		return err
	}
	return tx.commitAll()
}

// PreviewChanges computes the changes like ApplyChanges and passes them to show, without applying them.
func (w *Workspace) PreviewChanges(show func([]PlannedChange) error, changes ...FileChange) error {
	tx := changeTransaction{w: w, dry: true}
	defer tx.cleanUp(false)
	if err := tx.prepareChanges(changes); err != nil {
		return err
	}
	return show(tx.listPlannedChanges())
}

// changeTransaction is the state of one ApplyChanges or PreviewChanges call.
type changeTransaction struct {
	w           *Workspace
	dry         bool // change nothing, not even directories
	files       []*pendingChange
	createdDirs []createdDir
	unlock      func()
}

// prepareChanges opens the targets, locks their directories and computes the new contents.
func (tx *changeTransaction) prepareChanges(changes []FileChange) error {
	for _, c := range changes {
		if err := tx.addChange(c); err != nil {
			return withFailedFile(c.Path, err)
		}
	}
	if err := tx.lockDirs(); err != nil {
		return err
	}
	return tx.computeContents()
}

// pendingChange is the change of one file in a transaction.
type pendingChange struct {
	*changeTarget
	changes []FileChange
	old     OldFile
	data    []byte
	temp    *tempFile // temporary file with the new contents, before the rename
	backup  *tempFile // second hard link of the old file until all files are changed
}

// addChange opens the target of a change and adds it to the transaction. It creates missing parents if the change asks
// for them.
func (tx *changeTransaction) addChange(c FileChange) error {
	if isDirOnlyPath(c.Path) {
		return &Error{Code: DirectoryName, Path: c.Path}
	}
	t, err := tx.w.openTargetParent(guard.Write, c.Path)
	var none *missingParentError
	if errors.As(err, &none) && c.Parents {
		// Create directories only for a possible change.
		if _, err = c.Change(&OldFile{Path: none.at.fullPath(), asked: c.Path}); err != nil {
			return err
		}
		if tx.dry {
			t, err = &changeTarget{path: none.at.fullPath(), written: c.Path}, nil
		} else if t, err = tx.makeParents(none.at, c.Path); err != nil {
			return err
		}
	}
	if none == nil && c.Parents && errors.Is(err, fs.ErrNotExist) {
		t, err = tx.makeWhitelistedParents(c, err)
	}
	if isReadOnlyDirError(err) {
		t, err = tx.w.openInPlaceTarget(c.Path)
	}
	if err != nil {
		return err
	}
	for _, f := range tx.files {
		if f.isSameTarget(t) {
			t.closeHandles()
			f.changes = append(f.changes, c)
			return nil
		}
	}
	tx.files = append(tx.files, &pendingChange{changeTarget: t, changes: []FileChange{c}})
	return nil
}

func (tx *changeTransaction) lockDirs() error {
	dirs := make([]*os.File, 0, len(tx.files))
	for _, f := range tx.files {
		if f.handle != nil {
			dirs = append(dirs, f.handle)
		}
	}
	unlock, err := tx.w.locks.lockDirs(dirs)
	tx.unlock = unlock
	return err
}

// computeContents reads the old contents of all files and computes the new ones.
func (tx *changeTransaction) computeContents() error {
	for _, f := range tx.files {
		if err := f.computeNewContents(tx.w); err != nil {
			return withFailedFile(f.written, err)
		}
	}
	return nil
}

func (f *pendingChange) computeNewContents(w *Workspace) (err error) {
	f.old = OldFile{Path: f.path, w: w, asked: f.written}
	f.old.file, f.old.Info, err = f.openOldFile()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case f.old.Info.Mode().Perm()&0o222 == 0:
		return &Error{Code: ReadOnly, Path: f.written}
	}
	current := f.old
	for _, c := range f.changes {
		if f.data, err = c.Change(&current); err != nil {
			return err
		}
		if limit := w.MaxFileSize(); limit > 0 && int64(len(f.data)) > limit {
			return tooLargeError(f.written, int64(len(f.data)), limit)
		}
		if !f.old.read && current.read {
			f.old.data, f.old.read = current.data, true
		}
		current.data, current.read = f.data, true
	}
	return w.refuseProtectedContent(f.written, f.path, f.data)
}

func (tx *changeTransaction) listPlannedChanges() []PlannedChange {
	all := make([]PlannedChange, len(tx.files))
	for i, f := range tx.files {
		all[i] = PlannedChange{Old: &f.old, Data: f.data}
		for _, d := range tx.createdDirs {
			if dir := filepath.Join(d.root.Name(), d.name); paths.Within(dir, f.path) {
				all[i].Dirs = append(all[i].Dirs, dir)
			}
		}
	}
	return all
}

func (f *pendingChange) openOldFile() (*os.File, fs.FileInfo, error) {
	switch {
	case f.inPlace != nil:
		info, err := f.inPlace.file.Stat()
		return f.inPlace.file, info, err
	case f.handle == nil:
		return nil, nil, fs.ErrNotExist
	}
	return f.toAccessTarget().openRegular(f.written)
}

// commitAll renames the new files into place. After an error it restores the old ones.
func (tx *changeTransaction) commitAll() error {
	for i, f := range tx.files {
		if err := f.commitFile(len(tx.files) > 1); err != nil {
			err = withFailedFile(f.written, err)
			for _, before := range slices.Backward(tx.files[:i]) {
				if back := before.rollBackFile(); back != nil {
					err = &Error{Code: Halfway, Path: before.written, Err: errors.Join(err, back)}
				}
			}
			return err
		}
	}
	var err error
	for _, f := range tx.files {
		err = errors.Join(err, f.syncTargetDir())
	}
	return err
}

func (f *pendingChange) commitFile(keep bool) error {
	if f.inPlace != nil {
		return f.inPlace.overwriteOrRestore(f.data, &f.old)
	}
	if keep && f.old.Exists() {
		// The second name preserves the old file for a rollback.
		backup, err := f.reserveTempName(f.temp.w)
		if err != nil {
			return err
		}
		if err := f.dir.Link(f.name, backup.name); err != nil {
			backup.freeTempRecord()
			return fmt.Errorf("keep the old %s until all is done: %w", f.written, err)
		}
		f.backup = backup
	}
	f.old.closeFile() // an open file's blocks are freed later, with another disk write
	staged := *f.changeTarget
	staged.name = f.temp.name
	if err := renameAt(&staged, f.changeTarget, true); err != nil {
		return err
	}
	f.temp.freeTempRecord()
	f.temp = nil
	return nil
}

func (f *pendingChange) rollBackFile() error {
	if f.inPlace != nil {
		old, err := f.old.Bytes()
		return errors.Join(err, f.inPlace.overwriteFile(old))
	}
	if f.backup == nil {
		return f.dir.Remove(f.name)
	}
	err := f.dir.Rename(f.backup.name, f.name)
	if err == nil {
		f.backup.freeTempRecord()
		f.backup = nil
	}
	return err
}

// cleanUp closes and unlocks everything, and removes temporary files. Without ok it also removes created directories.
func (tx *changeTransaction) cleanUp(ok bool) {
	for _, f := range tx.files {
		for _, file := range []*os.File{f.old.file, f.inPlace.fileOrNil()} {
			if file != nil && file != f.handle {
				_ = file.Close()
			}
		}
		f.inPlace.removeIntentFile()
		f.temp.removeTempFile()
		f.backup.removeTempFile()
	}
	if tx.unlock != nil {
		tx.unlock()
	}
	for _, f := range tx.files {
		f.closeHandles()
	}
	if !ok {
		for _, d := range slices.Backward(tx.createdDirs) {
			d.removeEmpty()
		}
	}
	for _, d := range tx.createdDirs {
		if d.own {
			_ = d.root.Close()
		}
	}
}

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
