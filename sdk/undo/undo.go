package undo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// UndoRequest selects an operation to undo and the options of the undo.
type UndoRequest struct {
	ID     string
	Force  bool // also undo paths that changed since
	DryRun bool // change nothing, only return the paths and conflicts
	// Check returns an error if a path must not be changed. nil allows every path.
	Check func(path string) error
	// Permit returns an error if a change that creates or replaces a file is not allowed. nil allows every change.
	Permit func(mutation.FileMutation) error
}

// UndoResult lists the results of an undo or a dry run.
type UndoResult struct {
	Operation    *Operation
	Paths        []string        // restored or removed
	Conflicts    []PathConflict  // not restored
	Ended        RecordingResult // result of the undo as an operation of its own
	LostMetadata []string        // restored paths without some of their former metadata, which is in parentheses
}

// UnfinishedOperationError is the error for an operation, or a later undo, whose end was not recorded.
type UnfinishedOperationError struct{ ID, Summary string }

func (e *UnfinishedOperationError) Error() string {
	return e.Summary + " was killed, or still runs: its end was not recorded"
}

// Undo restores the former object of each name that an operation touched, with contents and metadata. It leaves a name
// or object that changed since, and returns it as a conflict. The undo is itself recorded as an operation, which can be
// undone.
func (s *Store) Undo(ctx context.Context, files *workspace.Workspace, q UndoRequest) (UndoResult, error) {
	f, op, err := s.openArchive(q.ID)
	if err != nil {
		return UndoResult{}, err
	}
	defer func() { _ = f.Close() }()
	if err = verifyChecksum(f, op); err != nil {
		return UndoResult{}, err
	}
	r, contents, ended, err := readArchive(f, q.ID)
	if err != nil {
		return UndoResult{}, err
	}
	if !ended {
		if !q.Force {
			return UndoResult{}, &UnfinishedOperationError{q.ID, r.Summary}
		}
		r = s.finishKilledRecord(r, files)
	}
	p := newUndoPlan(r, files, q.Force)
	p.maxBytes = s.MaxOperationBytes()
	if err = s.addLaterUndos(p, q.ID); err != nil {
		return UndoResult{}, err
	}
	if q.Check == nil {
		q.Check = func(string) error { return nil }
	}
	if q.Permit == nil {
		q.Permit = func(mutation.FileMutation) error { return nil }
	}
	p.makeSteps(q.Check)
	out := UndoResult{Operation: &r.Operation}
	out.Paths, out.Conflicts = p.listPathsAndConflicts()
	if err = p.checkFileSizes(); err != nil || q.DryRun || len(out.Paths) == 0 && (len(out.Conflicts) > 0 || !p.resumed && ended) {
		return out, err
	}
	u := &undoRun{
		undoPlan: p, ctx: ctx, archive: f, contents: contents, staged: map[int]nameInDir{}, occupants: map[*undoStep]nameInDir{}, ready: map[int]nameInDir{}, lostMetadata: map[string][]string{}, times: map[int]int64{}, alive: map[int]nameInDir{}, paths: map[int]string{}, unwritable: map[int]bool{},
		permit: q.Permit,
		opened: map[string]fs.FileMode{}, modes: map[int]fs.FileMode{}, closedFiles: map[FileIdentity]fs.FileMode{}, touched: map[FileIdentity]bool{},
		recorder: s.NewRecorder(files, RecordOptions{Tool: "undo", Summary: "undo of " + r.Summary}),
	}
	u.recorder.record.Undoes, u.recorder.record.Early = q.ID, !ended
	err = errors.Join(u.runPhases(), u.removeStagedFiles())
	u.dirs.closeAll()
	u.recorder.restored = u.listRestoredObjects
	out.Paths, out.Conflicts = p.listPathsAndConflicts()
	u.recorder.record.Partly = err != nil || len(out.Conflicts) > 0
	out.Ended = u.recorder.End()
	for _, path := range slices.Sorted(maps.Keys(u.lostMetadata)) {
		slices.Sort(u.lostMetadata[path])
		if !slices.ContainsFunc(out.Conflicts, func(c PathConflict) bool { return c.Path == path }) {
			out.LostMetadata = append(out.LostMetadata, hiddentext.QuoteUnprintable(path)+" ("+strings.Join(u.lostMetadata[path], ", ")+")")
		}
	}
	return out, err
}

// addLaterUndos adds to the plan all undos after an operation, and operations that changed nothing but times. It
// returns an error for an interrupted undo, whose temporary files have contents that exist nowhere else.
func (s *Store) addLaterUndos(p *undoPlan, since string) error {
	ids, err := s.listIDs()
	if err != nil {
		return err
	}
	extents := UndoStatuses{}
	for _, id := range ids {
		if id <= since {
			break
		}
		f, op, err := s.openArchive(id)
		if err != nil {
			continue
		}
		if extents.Add(&op.Operation) == ExtentNone && op.Undoes != "" && op.IsUnfinished() && op.Dir == p.files.Dir() {
			_ = f.Close()
			return &UnfinishedOperationError{id, op.Summary}
		}
		if op.Undoes != "" || op.leftFilesUnchanged() {
			if r, _, _, err := readArchive(f, id); err == nil {
				p.addLaterUndo(r, since)
			}
		}
		_ = f.Close()
	}
	return nil
}

// finishKilledRecord completes the record of an operation whose process was killed.
func (s *Store) finishKilledRecord(r *operationRecord, files *workspace.Workspace) *operationRecord {
	rec := s.NewRecorder(files, RecordOptions{})
	rec.record = *r
	for _, o := range rec.record.Objects {
		o.used, o.Attributed, o.Written = true, true, o.Content != 0 || o.Prefix
		if o.ID != "" {
			rec.byID[o.ID] = o
		}
	}
	for _, e := range rec.record.Entries {
		key := rec.record.keyForEntry(e)
		if former := rec.byName[key]; former != nil { // somebody else changed what was at the name since
			former.Foreign = true
		}
		rec.byName[key] = e
		e.whole = true
	}
	rec.finishRecord()
	rec.stopObserving()
	return &rec.record
}

// undoRun carries out an undoPlan in phases. It first writes all contents to temporary files, so that a full disk
// changes nothing. It then moves the operation's files out of the way. From the outermost directory on, it recreates
// directories, moves files back and restores contents. Then it deletes the files and the empty directories that the
// operation created. Metadata comes last, because the other phases change times.
type undoRun struct {
	*undoPlan

	ctx          context.Context
	archive      *os.File
	contents     map[int]contentSpan
	recorder     *Recorder
	permit       func(mutation.FileMutation) error
	staged       map[int]nameInDir            // objects at temporary names, by index
	occupants    map[*undoStep]nameInDir      // objects that had the names of steps, at temporary names
	lostMetadata map[string][]string          // former metadata that could not be restored, by path
	ready        map[int]nameInDir            // temporary files with former contents, by object index
	times        map[int]int64                // former modification times of directories with temporary files
	alive        map[int]nameInDir            // existing files, by object index
	unwritable   map[int]bool                 // directories that refused a temporary file
	paths        map[int]string               // current paths of directories that moved since the operation
	opened       map[string]fs.FileMode       // former modes of directories that the undo made accessible, by path
	modes        map[int]fs.FileMode          // the same modes by object index
	closedFiles  map[FileIdentity]fs.FileMode // former modes of files that the undo made readable
	touched      map[FileIdentity]bool        // files with several names of which the undo changed one
}

// nameInDir is a name in a directory of the record.
type nameInDir struct {
	dir  int
	name string
}

// TempPrefix is the prefix of undo's temporary names.
const TempPrefix = ".picoclaw-undo-"

func newTempName() string { return TempPrefix + strings.ToLower(rand.Text()[:10]) }

func (u *undoRun) runPhases() error {
	for _, s := range u.steps {
		if s.done && s.Before != none && !u.Objects[s.Before].isDir() {
			u.alive[s.Before] = nameInDir{s.Dir, string(s.Name)}
		}
	}
	for _, phase := range []func() error{u.makeDirsAccessible, u.stageFiles, u.vacateNewNames, u.moveBackWithoutHome, u.restoreDirs,
		u.moveBackWithoutHome, u.restoreFiles, u.removeCreatedDirs, u.removeStagedFiles, u.restoreFileMeta, u.restoreDirMeta} {
		if err := phase(); err != nil {
			u.settleOccupants(true)
			u.moveBackFromTempNames(func(*fileObject) bool { return true })
			return err
		}
	}
	return u.syncFiles()
}

// eachStep calls do for each unblocked step in sorted order. An error blocks the step, unless it ends the undo.
func (u *undoRun) eachStep(order func(a, b *undoStep) int, do func(*undoStep) error) error {
	sorted := slices.Clone(u.steps)
	slices.SortStableFunc(sorted, order)
	for _, s := range sorted {
		if s.blocked != "" || s.done {
			continue
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		err := do(s)
		if endsUndo(err) {
			return fmt.Errorf("restore %s: %w", s.path, err)
		}
		if err != nil {
			s.blockStep(conflictReason(err))
		}
	}
	return nil
}

// endsUndo reports whether an error concerns all paths, not one path alone.
func endsUndo(err error) bool {
	return fulldisk.IsFullDiskError(err) || slices.ContainsFunc([]error{context.Canceled, context.DeadlineExceeded, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE},
		func(target error) bool { return errors.Is(err, target) })
}

// conflictReason returns the reason that a path with an error is a conflict.
func conflictReason(err error) string {
	var conflict *PathConflict
	if errors.As(err, &conflict) {
		return conflict.Reason
	}
	return "can't be restored: " + stripErrorPath(err).Error()
}

// compareOutermost sorts a directory before its contents, by paths before the operation.
func compareOutermost(a, b *undoStep) int { return comparePaths(a.path, b.path) }

// compareInnermost sorts a directory after its contents, by paths after the operation.
func compareInnermost(a, b *undoStep) int { return comparePaths(b.at, a.at) }

func comparePaths(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
}

// currentDirPath returns the current path of a directory, or "".
func (u *undoRun) currentDirPath(index int) string {
	if path, ok := u.paths[index]; ok {
		return path
	}
	return string(u.Objects[index].Now)
}

// openCurrentDir opens a directory of the record at its current path. It returns a conflict if another directory has
// that path.
func (u *undoRun) openCurrentDir(index int) (*cachedDir, error) {
	path := u.currentDirPath(index)
	if path == "" {
		return nil, &PathConflict{"", "is in a directory that could not be restored"}
	}
	d := u.dirs.openDir(path)
	if d == nil {
		return nil, &PathConflict{"", "is in a directory that can't be opened"}
	}
	if d.object != u.Objects[index] {
		n, err := statOpenFile(d.file)
		if err != nil {
			return nil, err
		}
		if _, moved := u.paths[index]; !moved && !u.isSameObject(n.ID, u.Objects[index].ID) {
			return nil, &PathConflict{"", "is in a directory that was moved or replaced since"}
		}
		d.object = u.Objects[index]
	}
	return d, nil
}

// noteDirMoved updates the current paths of a renamed directory and all directories below it.
func (u *undoRun) noteDirMoved(from, to string) {
	u.dirs.closeTree(from)
	for _, o := range u.Objects {
		if !o.isDir() {
			continue
		}
		path := u.currentDirPath(o.index)
		if path == from || strings.HasPrefix(path, from+"/") {
			u.paths[o.index] = to + path[len(from):]
		}
	}
}

// checkPermitted returns a conflict if the request's Permit function refuses a change.
func (u *undoRun) checkPermitted(kind mutation.Kind, path, to string, dir bool) error {
	if err := u.permit(mutation.FileMutation{Kind: kind, Path: path, To: to, Dir: dir}); err != nil {
		return &PathConflict{path, protectedPath}
	}
	return nil
}

func (u *undoRun) recordChange(kind mutation.Kind, path, to string) {
	_ = u.recorder.BeforeChange(mutation.FileMutation{Kind: kind, Path: path, To: to})
}

// restoreDirs recreates deleted directories and moves staged objects back to their former names.
func (u *undoRun) restoreDirs() error {
	return u.eachStep(compareOutermost, func(s *undoStep) error {
		if s.Before == none || s.Dir == none {
			return nil
		}
		o := u.Objects[s.Before]
		from, staged := u.staged[s.Before]
		if s.Before == s.After || !o.isDir() && !staged {
			if !o.isDir() && s.Before == s.After {
				u.alive[s.Before] = nameInDir{s.Dir, string(s.Name)}
			}
			return nil
		}
		if o.isDir() && !staged && len(u.places[s.Before]) > 0 {
			return &PathConflict{s.path, notMovedBack}
		}
		d, err := u.openCurrentDir(s.Dir)
		if err != nil {
			return err
		}
		name, path := string(s.Name), filepath.Join(d.path, string(s.Name))
		if staged {
			source, err := u.openCurrentDir(from.dir)
			if err != nil {
				return err
			}
			if d, err = u.openCurrentDir(s.Dir); err != nil {
				return err
			}
			old := filepath.Join(source.path, from.name)
			if err := u.checkPermitted(mutation.Rename, old, path, o.isDir()); err != nil {
				return err
			}
			u.recordChange(mutation.Rename, old, path)
			if err := source.renameNoReplace(from.name, d.dirHandle, name); err != nil {
				return conflictIfExists(err)
			}
			delete(u.staged, s.Before)
			if o.isDir() {
				u.noteDirMoved(old, path)
			} else {
				u.alive[s.Before] = nameInDir{s.Dir, name}
			}
			return nil
		}
		if err := u.checkPermitted(mutation.Make, path, "", true); err != nil {
			return err
		}
		u.recordChange(mutation.Make, path, "")
		if err := d.root.Mkdir(name, 0o700); err != nil {
			return conflictIfExists(err)
		}
		u.paths[s.Before] = path
		return nil
	})
}

func conflictIfExists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &PathConflict{"", appearedThen}
	}
	return err
}

func (u *undoRun) syncFiles() error {
	top, err := u.files.OpenRoot(u.files.Dir())
	if err != nil {
		return nil //nolint:nilerr // it could not be changed either
	}
	return errors.Join(workspace.SyncFileSystem(top), top.Close())
}

// openKeptContents returns a reader of the archived contents of a file.
func (u *undoRun) openKeptContents(o *fileObject) (io.Reader, error) {
	c, ok := u.contents[o.Content]
	if !ok || c.size != o.Size {
		return nil, errors.New("its contents are not in the archive")
	}
	return io.NewSectionReader(u.archive, c.offset, c.size), nil
}
