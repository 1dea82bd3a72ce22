package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// Record is what the home knows of a run.
type Record struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Project string    `json:"project"`
	Program []string  `json:"program"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Code    int       `json:"exit_code"`
	Undo    string    `json:"undo,omitempty"` // of its change
}

// runsDir returns the directory of a home's runs. Each run has a directory with its record and its undo store.
func runsDir(home string) string { return filepath.Join(home, "runs") }

func recordFile(home, id string) string { return filepath.Join(runsDir(home), id, "run.json") }

// UndoStore returns the directory of a run's undo store.
func UndoStore(home, id string) string { return filepath.Join(runsDir(home), id, "undo") }

// newRunID returns an id that sorts by time.
func newRunID(now time.Time) string {
	return now.UTC().Format("20060102T150405") + "-" + strings.ToLower(rand.Text()[:4])
}

func (r *Record) save(home string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(runsDir(home), r.ID), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(recordFile(home, r.ID), append(text, '\n'), 0o600)
}

// Records returns the runs of a home, the newest first; those of one project unless it is empty.
func Records(home, project string) ([]Record, error) {
	entries, err := os.ReadDir(runsDir(home))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var all []Record
	for _, entry := range slices.Backward(entries) {
		if !entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(recordFile(home, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a run's record: %w; delete the directory to forget the run", err)
		}
		var r Record
		if err := json.Unmarshal(text, &r); err != nil || r.ID != entry.Name() {
			return nil, fmt.Errorf("%s is no run's record; delete the directory to forget the run", recordFile(home, entry.Name()))
		}
		if project == "" || r.Project == project {
			all = append(all, r)
		}
	}
	return all, nil
}

// maxRuns is how many runs a home remembers.
const maxRuns = 200

// pruneRuns forgets runs that are too old to be undone, and the oldest above maxRuns, with their undo history. A run that
// has no end may still be going on, and is kept as long as any.
func pruneRuns(home string, maxAge time.Duration) error {
	all, err := Records(home, "")
	if err != nil {
		return err
	}
	for i, r := range all {
		if i >= maxRuns || time.Since(r.Started) > maxAge && time.Since(r.Ended) > maxAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(runsDir(home), r.ID)))
		}
	}
	return err
}

// homeName names the HOME of a program in a project.
func homeName(program, project string) string {
	return fmt.Sprintf("run-%s-%x", filepath.Base(program), sha256.Sum256([]byte(project)))[:min(64, len("run-")+len(filepath.Base(program))+13)]
}
