package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// RunRecord is the stored description of a run.
type RunRecord struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Project string    `json:"project"`
	Program []string  `json:"program"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Code    int       `json:"exit_code"`
	Undo    string    `json:"undo,omitempty"` // of its first burst of changes

	Reached []string `json:"reached,omitempty"` // hosts, as in network.allow
	Refused []string `json:"refused,omitempty"` // connections, with the deciding setting
	Changes int      `json:"changes,omitempty"` // of files, in the bursts that have ended; only in [ListRunning]
}

// ListRunning returns the runs that have not ended, the newest first.
func ListRunning(home string) ([]RunRecord, error) {
	all, err := ListRecords(home, "")
	all = slices.DeleteFunc(all, func(r RunRecord) bool { return !r.isRunning(home) })
	for i := range all {
		err = errors.Join(err, all[i].countChanges(home))
	}
	return all, err
}

// isRunning reports whether the process of the run holds its lock. A killed process leaves a record without an end.
func (r *RunRecord) isRunning(home string) bool {
	lock, err := r.lockRun(home, filelock.LockShared) // shared: other commands may look too
	_ = lock.Close()
	return r.Ended.IsZero() && err != nil && !errors.Is(err, fs.ErrNotExist)
}

// lockRun locks the directory of a run until the file is closed, or this process ends.
func (r *RunRecord) lockRun(home string, lock func(*os.File) error) (*os.File, error) {
	dir, err := os.Open(filepath.Join(runsDir(home), r.ID))
	if err == nil {
		err = lock(dir)
	}
	return dir, err
}

// countChanges counts the changes of files in the bursts that have ended.
func (r *RunRecord) countChanges(home string) error {
	dir := UndoStoreDir(home, r.ID)
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // undo is off
	}
	store, err := undo.Open(undo.StoreOptions{Dir: dir})
	if err != nil {
		return err
	}
	return store.EachOperation(func(op *undo.Operation) bool {
		if op.Changes != nil && op.Undoes == "" {
			r.Changes += op.Changes.Total()
		}
		return true
	})
}

// runsDir returns the directory of all runs. Each run has a directory with its record and its undo store.
func runsDir(home string) string { return filepath.Join(home, "runs") }

func recordFilePath(home, id string) string { return filepath.Join(runsDir(home), id, "run.json") }

// UndoStoreDir returns the directory of a run's undo store.
func UndoStoreDir(home, id string) string { return filepath.Join(runsDir(home), id, "undo") }

// gitStateDir returns the directory with a copy of the refs and settings of a shared git directory before a run.
func gitStateDir(home, id string) string { return filepath.Join(runsDir(home), id, "git") }

// HasBurst reports whether the run's undo history has an operation.
func (r *RunRecord) HasBurst(home, id string) bool {
	_, err := os.Lstat(filepath.Join(UndoStoreDir(home, r.ID), id+".tar"))
	return err == nil
}

// FindRecordOfChange returns the run whose undo history has an operation; nil for none.
func FindRecordOfChange(home, id string) (*RunRecord, error) {
	all, err := ListRecords(home, "")
	at := slices.IndexFunc(all, func(r RunRecord) bool { return r.HasBurst(home, id) })
	if err != nil || at < 0 {
		return nil, err
	}
	return &all[at], nil
}

// ListOperationsToUndo returns the ids of the operations whose undo takes back all changes of a run, the newest first.
// It fails if every burst of changes is undone or, without force, if the end of an operation was not recorded. If a burst
// was undone before a later one, that undo is undone too.
func (r *RunRecord) ListOperationsToUndo(home string, force bool) (ids []string, err error) {
	store, err := undo.Open(undo.StoreOptions{Dir: UndoStoreDir(home, r.ID)})
	if err != nil {
		return nil, err
	}
	var all, effective []*undo.Operation
	statuses := undo.UndoStatuses{}
	isUndone, ended := true, true
	err = store.EachOperation(func(op *undo.Operation) bool {
		all = append(all, op)
		if statuses.Add(op) != undo.ExtentWhole && (op.Undoes == "" || op.IsUnfinished()) {
			isUndone, ended = false, ended && !op.IsUnfinished()
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, op := range slices.Backward(all) {
		last := len(effective) - 1
		switch {
		case op.IsUnfinished() || last < 0 || op.Undoes != effective[last].ID:
			effective = append(effective, op)
		case !op.LeavesPartOf(effective[last]):
			effective = effective[:last]
		} // otherwise the rest of the last operation is undone
	}
	switch {
	case isUndone || len(effective) == 0:
		return nil, fmt.Errorf("there is nothing to undo of run %s", r.ID)
	case !ended && !force:
		return nil, fmt.Errorf("run %s still runs, or was killed; end it with `picoclaw stop`, or use --force", r.ID)
	}
	for _, op := range slices.Backward(effective) {
		ids = append(ids, op.ID)
	}
	return ids, nil
}

// newRunID returns a new id. Ids sort by time.
func newRunID(now time.Time) string {
	return now.UTC().Format("20060102T150405") + "-" + strings.ToLower(rand.Text()[:4])
}

func (r *RunRecord) saveRecord(home string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(runsDir(home), r.ID), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(recordFilePath(home, r.ID), append(text, '\n'), 0o600)
}

// ListRecords returns the runs of a project, or of all projects if project is empty, the newest first. With an error, it
// returns the runs whose records are readable.
func ListRecords(home, project string) ([]RunRecord, error) {
	entries, err := os.ReadDir(runsDir(home))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var all []RunRecord
	for _, entry := range slices.Backward(entries) {
		if !entry.IsDir() {
			continue
		}
		path, r := recordFilePath(home, entry.Name()), RunRecord{}
		_, errBefore := os.Lstat(UndoStoreDir(home, entry.Name()))
		text, readErr := smallfile.Read(path, 1<<20)
		_, errAfter := os.Lstat(UndoStoreDir(home, entry.Name()))
		if errors.Is(readErr, fs.ErrNotExist) && errors.Is(errors.Join(errBefore, errAfter), fs.ErrNotExist) {
			continue // the run starts, or another process prunes it
		}
		if readErr == nil {
			if parseErr := json.Unmarshal(text, &r); parseErr != nil || r.ID != entry.Name() {
				readErr = errors.New("it is no run's record")
			}
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("read the run's record %s: %w; restore the file, or delete its directory to forget the run "+
				"with its undo history", path, readErr))
			continue
		}
		if project == "" || r.Project == project {
			all = append(all, r)
		}
	}
	return all, err
}

// maxRuns limits the number of stored runs.
const maxRuns = 200

// pruneRuns deletes runs that are older than maxAge, and the oldest above maxRuns, with their undo history. A run
// without an end may still be running, and counts as recent for maxAge after its start.
func pruneRuns(home string, maxAge time.Duration) error {
	all, _ := ListRecords(home, "") // unreadable ones stay
	var err error
	for i, r := range all {
		if i >= maxRuns || time.Since(r.Started) > maxAge && time.Since(r.Ended) > maxAge {
			// The undo history goes first: without it, a missing record is no error.
			err = errors.Join(err, os.RemoveAll(UndoStoreDir(home, r.ID)), os.RemoveAll(filepath.Join(runsDir(home), r.ID)))
		}
	}
	return err
}

// programHomeName returns the name of the directory that is a program's HOME in a project.
func programHomeName(program, project string) string {
	return fmt.Sprintf("run-%s-%x", filepath.Base(program), sha256.Sum256([]byte(project)))[:min(64, len("run-")+len(filepath.Base(program))+13)]
}
