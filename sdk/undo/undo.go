package undo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Request says what to undo and how.
type Request struct {
	ID     string
	Force  bool // also what has changed since
	DryRun bool // change nothing, and only say what would be
	// Check says why a path is not to be changed; nil if it may be.
	Check func(path string) error
	// Permit says why a change is not to be made that puts something somewhere; nil if it may be.
	Permit func(mutation.Mutation) error
}

// Undone says what was undone, or would be.
type Undone struct {
	Operation *Operation
	Paths     []string   // put back or taken away
	Conflicts []Conflict // left as they are
	Ended     Ended      // the operation that the undo was
	// OwnersLost is how many files and directories were made again that belonged to somebody else.
	OwnersLost int
}

// NotEnded is the error for an operation whose end was not recorded.
type NotEnded struct{ Summary string }

func (e *NotEnded) Error() string {
	return e.Summary + " was killed, or still runs: its end was not recorded"
}

// Undo gives each name that an operation touched its former object back, with contents and metadata. A name or object
// that somebody else changed since is a conflict and stays as it is. What undo destroys is recorded, as an operation of
// its own.
func (s *Store) Undo(ctx context.Context, files *workspace.Workspace, q Request) (Undone, error) {
	if !idPattern().MatchString(q.ID) {
		return Undone{}, &Unknown{q.ID}
	}
	f, err := os.Open(s.archivePath(q.ID))
	if err != nil {
		return Undone{}, &Unknown{q.ID}
	}
	defer func() { _ = f.Close() }()
	r, contents, ended, err := readArchive(f, q.ID)
	if err != nil {
		return Undone{}, err
	}
	if !ended {
		if !q.Force {
			return Undone{}, &NotEnded{r.Summary}
		}
		r = s.resumeRecord(r, files)
	}
	p := newPlan(r, files, q.Force)
	if err = s.learnUndos(p, q.ID); err != nil {
		return Undone{}, err
	}
	if q.Check == nil {
		q.Check = func(string) error { return nil }
	}
	if q.Permit == nil {
		q.Permit = func(mutation.Mutation) error { return nil }
	}
	p.makeSteps(q.Check)
	out := Undone{Operation: &r.Operation}
	out.Paths, out.Conflicts = p.listPaths()
	if err = p.tooLarge(); err != nil || q.DryRun || len(out.Paths) == 0 && (len(out.Conflicts) > 0 || !p.resumed) {
		return out, err
	}
	u := &undoing{
		plan: p, ctx: ctx, archive: f, contents: contents, staged: map[int]spot{}, ready: map[int]spot{}, times: map[int]int64{}, alive: map[int]spot{}, paths: map[int]string{},
		permit: q.Permit,
		opened: map[string]fs.FileMode{}, modes: map[int]fs.FileMode{}, closedFiles: map[Identity]fs.FileMode{}, touched: map[Identity]bool{},
		recorder: s.Record(files, RecordOptions{Tool: "undo", Summary: "undo of " + r.Summary}),
	}
	u.recorder.record.Undoes = q.ID
	err = u.runPhases()
	u.dropReady()
	u.dirs.closeAll()
	u.recorder.restored = u.listRestored
	out.Paths, out.Conflicts = p.listPaths()
	u.recorder.record.Partly = err != nil || len(out.Conflicts) > 0
	out.Ended = u.recorder.End()
	out.OwnersLost = u.ownersLost
	return out, err
}

// learnUndos reads the undos since an operation, and the operations that changed nothing.
func (s *Store) learnUndos(p *plan, since string) error {
	ids, err := s.listIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id <= since {
			break
		}
		op, err := s.Operation(id)
		if err != nil || op.Undoes == "" && !op.changedNothing() {
			continue
		}
		f, err := os.Open(s.archivePath(id))
		if err != nil {
			continue
		}
		r, _, _, err := readArchive(f, id)
		_ = f.Close()
		if err == nil {
			p.learnRestored(r, since)
		}
	}
	return nil
}

// resumeRecord finishes the record of an operation whose process was killed.
func (s *Store) resumeRecord(r *record, files *workspace.Workspace) *record {
	rec := s.Record(files, RecordOptions{})
	rec.record = *r
	for _, o := range rec.record.Objects {
		o.used, o.Attributed, o.Written = true, true, o.Content != 0 || o.Prefix
		if o.ID != "" {
			rec.byID[o.ID] = o
		}
	}
	for _, e := range rec.record.Entries {
		key := rec.record.keyOf(e)
		if former := rec.byName[key]; former != nil { // somebody else changed what was at the name since
			former.Foreign = true
		}
		rec.byName[key] = e
		e.whole = e.Before == none
	}
	rec.finishRecord()
	rec.stopObserving()
	return &rec.record
}

// undoing carries a plan out. First it writes all contents to the disk, under names of its own, so that a full disk
// changes nothing. It moves everything that the operation put somewhere out of the way in the same manner. Then, from the outermost on, directories are made and what was moved gets its name
// back; files follow, and directories of the operation are deleted when they are empty. Metadata comes last, since all
// of this changes times.
type undoing struct {
	*plan

	ctx         context.Context
	archive     *os.File
	contents    map[int]content
	recorder    *Recorder
	permit      func(mutation.Mutation) error
	staged      map[int]spot             // objects that wait, by their number
	ready       map[int]spot             // files that were made again and wait
	times       map[int]int64            // when the directories that files wait in were modified
	alive       map[int]spot             // files that have a name
	paths       map[int]string           // of directories that are not where the operation left them
	opened      map[string]fs.FileMode   // former modes of directories that undo opened to itself, by path
	modes       map[int]fs.FileMode      // the same for those in the record
	closedFiles map[Identity]fs.FileMode // former modes of files that undo opened to itself
	touched     map[Identity]bool        // files of several names of which undo changed one
	ownersLost  int
}

// spot is a name in a directory, which is an object of the record.
type spot struct {
	dir  int
	name string
}

// tempName begins the names that undo gives to what waits.
const tempName = ".picoclaw-undo-"

func newTempName() string { return tempName + strings.ToLower(rand.Text()[:10]) }

func (u *undoing) runPhases() error {
	for _, s := range u.steps {
		if s.done && s.Before != none && !u.Objects[s.Before].isDir() {
			u.alive[s.Before] = spot{s.Dir, string(s.Name)}
		}
	}
	for _, phase := range []func() error{u.openDirs, u.stageFiles, u.takeAway, u.putDirs, u.putFiles, u.removeDirs, u.putMeta, u.putDirMeta} {
		if err := phase(); err != nil {
			u.unstageObjects(func(*object) bool { return true })
			return err
		}
	}
	return u.flushDisk()
}

// eachStep calls do for the entries that nothing blocks, in an order. What has changed in the last moment is a conflict, and
// what fails otherwise ends the undo.
func (u *undoing) eachStep(order func(a, b *step) int, do func(*step) error) error {
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
		var conflict *Conflict
		if errors.As(err, &conflict) {
			s.blockStep(conflict.Reason)
			continue
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", s.path, err)
		}
	}
	return nil
}

// compareOutermost sorts a directory before what is in it, by the paths before the operation.
func compareOutermost(a, b *step) int { return comparePaths(a.path, b.path) }

// compareInnermost sorts a directory after what is in it, by the paths after the operation.
func compareInnermost(a, b *step) int { return comparePaths(b.at, a.at) }

func comparePaths(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
}

// dirPath returns where a directory is at this moment; empty for none.
func (u *undoing) dirPath(index int) string {
	if path, ok := u.paths[index]; ok {
		return path
	}
	return string(u.Objects[index].Now)
}

// openCurrent opens a directory of the record where it is at this moment.
func (u *undoing) openCurrent(index int) (*openDir, error) {
	path := u.dirPath(index)
	if path == "" {
		return nil, &Conflict{"", "is in a directory that could not be restored"}
	}
	d := u.dirs.openDir(path)
	if d == nil {
		return nil, &Conflict{"", "is in a directory that can't be opened"}
	}
	if d.object != u.Objects[index] {
		n, err := statFile(d.file)
		if err != nil {
			return nil, err
		}
		if _, moved := u.paths[index]; !moved && !u.isSame(n.ID, u.Objects[index].ID) {
			return nil, &Conflict{"", "is in a directory that was moved or replaced since"}
		}
		d.object = u.Objects[index]
	}
	return d, nil
}

// movedTo notes that a directory, with all that is in it, has another path now.
func (u *undoing) movedTo(from, to string) {
	u.dirs.dropTree(from)
	for _, o := range u.Objects {
		if !o.isDir() {
			continue
		}
		path := u.dirPath(o.index)
		if path == from || strings.HasPrefix(path, from+"/") {
			u.paths[o.index] = to + path[len(from):]
		}
	}
}

// allowChange fails where a change is not permitted that puts something at a path.
func (u *undoing) allowChange(kind mutation.Kind, path, to string, dir bool) error {
	if err := u.permit(mutation.Mutation{Kind: kind, Path: path, To: to, Dir: dir}); err != nil {
		return &Conflict{path, "is protected, and a person has to restore it"}
	}
	return nil
}

func (u *undoing) noticeChange(kind mutation.Kind, path, to string) {
	_ = u.recorder.Notice(mutation.Mutation{Kind: kind, Path: path, To: to})
}

// putDirs makes directories again, and gives what was moved its name back.
func (u *undoing) putDirs() error {
	return u.eachStep(compareOutermost, func(s *step) error {
		if s.Before == none || s.Dir == none {
			return nil
		}
		o := u.Objects[s.Before]
		from, staged := u.staged[s.Before]
		if s.Before == s.After || !o.isDir() && !staged {
			if !o.isDir() && s.Before == s.After {
				u.alive[s.Before] = spot{s.Dir, string(s.Name)}
			}
			return nil
		}
		if o.isDir() && !staged && len(u.places[s.Before]) > 0 {
			return &Conflict{s.path, "could not be moved back"}
		}
		d, err := u.openCurrent(s.Dir)
		if err != nil {
			return err
		}
		name, path := string(s.Name), filepath.Join(d.path, string(s.Name))
		if staged {
			source, err := u.openCurrent(from.dir)
			if err != nil {
				return err
			}
			if d, err = u.openCurrent(s.Dir); err != nil {
				return err
			}
			old := filepath.Join(source.path, from.name)
			if err := u.allowChange(mutation.Rename, old, path, o.isDir()); err != nil {
				return err
			}
			u.noticeChange(mutation.Rename, old, path)
			if err := source.renameToFree(from.name, d.directory, name); err != nil {
				return occupiedConflict(err)
			}
			delete(u.staged, s.Before)
			if o.isDir() {
				u.movedTo(old, path)
			} else {
				u.alive[s.Before] = spot{s.Dir, name}
			}
			return nil
		}
		if err := u.allowChange(mutation.Make, path, "", true); err != nil {
			return err
		}
		u.noticeChange(mutation.Make, path, "")
		if err := d.root.Mkdir(name, 0o700); err != nil {
			return occupiedConflict(err)
		}
		u.paths[s.Before] = path
		return nil
	})
}

// occupiedConflict makes a conflict of a name that somebody took in the last moment.
func occupiedConflict(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &Conflict{"", appearedThen}
	}
	return err
}

// flushDisk syncs the restored files to the disk.
func (u *undoing) flushDisk() error {
	top, err := u.files.OpenRoot(u.files.Dir())
	if err != nil {
		return nil //nolint:nilerr // it could not be changed either
	}
	return errors.Join(workspace.SyncFileSystem(top), top.Close())
}

// contentsOf returns what is kept of a file.
func (u *undoing) contentsOf(o *object) (io.Reader, error) {
	c, ok := u.contents[o.Content]
	if !ok || c.size != o.Size {
		return nil, errNotKept
	}
	return io.NewSectionReader(u.archive, c.offset, c.size), nil
}
