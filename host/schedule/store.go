package schedule

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

const (
	fileVersion  = 1
	maxFileBytes = 32 << 20 // maximum size of jobs.json
	// maxJobs limits the jobs of an agent, also of one whose jobs add jobs.
	maxJobs = 1000
)

// StoreDir returns the directory of an agent's jobs below PICOCLAW_HOME.
func StoreDir(home, agent string) string { return filepath.Join(home, "schedule", agent) }

// Store holds the jobs of one agent and the log of their runs. Several processes may use it at the same time.
type Store struct {
	home    string
	dir     string
	visible func(Job) bool // nil for all jobs
}

// OpenStore returns the job store of an agent.
func OpenStore(home, agent string) *Store { return &Store{home: home, dir: StoreDir(home, agent)} }

// FilteredView returns a view of the store with only the jobs for which visible returns true.
func (s *Store) FilteredView(visible func(Job) bool) *Store { return &Store{s.home, s.dir, visible} }

// jobFile is the content of jobs.json.
type jobFile struct {
	Version int            `json:"version"`
	Jobs    []Job          `json:"jobs"`
	Unknown jsontext.Value `json:",embed"`
}

// parseJobsFile parses jobs.json. It keeps jobs with an invalid schedule.
func parseJobsFile(text []byte) (*jobFile, error) {
	f := &jobFile{}
	if err := jsonv2.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if f.Version != fileVersion {
		return nil, fmt.Errorf("it has version %d; this picoclaw reads version %d", f.Version, fileVersion)
	}
	seen := map[string]bool{}
	for i, j := range f.Jobs {
		if j.ID == "" || seen[j.ID] {
			return nil, fmt.Errorf("jobs[%d] has no unique id", i)
		}
		seen[j.ID] = true
	}
	return f, nil
}

// encodeJobs returns the file's content as indented JSON.
func (f *jobFile) encodeJobs() ([]byte, error) {
	if f.Jobs == nil {
		f.Jobs = []Job{}
	}
	text, err := jsonv2.Marshal(f, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// findJob returns the job with an id, or the only job with a name.
func (s *Store) findJob(f *jobFile, name string) (*Job, error) {
	var named []*Job
	var known []string
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if s.visible != nil && !s.visible(*j) {
			continue
		}
		if j.ID == name {
			return j, nil
		}
		if j.Name == name {
			named = append(named, j)
		}
		known = append(known, j.ID, j.Name)
	}
	switch len(named) {
	case 0:
		return nil, fmt.Errorf("there is no job %q%s", name, suggest.DidYouMean(name, known))
	case 1:
		return named[0], nil
	}
	return nil, fmt.Errorf("%d jobs have the name %q: use an id", len(named), name)
}

func (s *Store) jobsPath() string { return filepath.Join(s.dir, "jobs.json") }

// readJobs reads jobs.json. The file info is nil if the file does not exist.
func (s *Store) readJobs() (*jobFile, fs.FileInfo, error) {
	text, info, err := smallfile.ReadWithInfo(s.jobsPath(), maxFileBytes)
	if missing := statefiles.CheckNotMissing(s.home, s.jobsPath()); missing != nil {
		return nil, nil, fmt.Errorf("read the jobs: %w", missing)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &jobFile{Version: fileVersion}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.jobsPath(), err)
	}
	f, err := parseJobsFile(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the jobs in %s can't be read: %w; restore a copy, or write %s to it and add the jobs again",
			s.jobsPath(), err, `{"version": 1, "jobs": []}`)
	}
	return f, info, nil
}

// updateJobs changes jobs.json under a lock between processes. It writes the file if change reports a change, and
// returns the file's info.
func (s *Store) updateJobs(change func(*jobFile) (changed bool, err error)) (info fs.FileInfo, err error) {
	if err = os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.OpenLocked(filepath.Join(s.dir, ".lock"), filelock.LockWaiting)
	if err != nil {
		return nil, fmt.Errorf("lock the jobs: %w", err)
	}
	defer func() { _ = lock.Close() }()
	f, info, err := s.readJobs()
	if err != nil {
		return nil, err
	}
	if changed, changeErr := change(f); changeErr != nil || !changed {
		return info, changeErr
	}
	text, err := f.encodeJobs()
	if err == nil {
		err = atomicfile.WriteFile(s.jobsPath(), text, 0o600)
	}
	if err == nil {
		err = statefiles.AddToList(s.home, s.jobsPath())
	}
	if err == nil {
		info, err = os.Stat(s.jobsPath())
	}
	if err != nil {
		return nil, fmt.Errorf("write the jobs: %w", err)
	}
	return info, nil
}

// Jobs returns all jobs that are visible.
func (s *Store) Jobs() ([]Job, error) {
	f, _, err := s.readJobs()
	if err != nil {
		return nil, err
	}
	if s.visible != nil {
		f.Jobs = slices.DeleteFunc(f.Jobs, func(j Job) bool { return !s.visible(j) })
	}
	return f.Jobs, nil
}

// Job returns the job with an id, or the only job with a name.
func (s *Store) Job(name string) (Job, error) {
	f, _, err := s.readJobs()
	if err != nil {
		return Job{}, err
	}
	j, err := s.findJob(f, name)
	if err != nil {
		return Job{}, err
	}
	return *j, nil
}

// AddJob stores a new job. It sets the id and the first run.
func (s *Store) AddJob(j Job, now time.Time) (Job, error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // crypto/rand does not fail
	j.ID, j.Enabled, j.State = hex.EncodeToString(id), true, JobState{}
	j.Payload.Kind = AgentTurn
	j.CreatedAtMs = now.UnixMilli()
	j.DeleteAfterRun = j.Schedule.Kind == At
	if err := j.validateAndReschedule(now); err != nil {
		return Job{}, err
	}
	_, err := s.updateJobs(func(f *jobFile) (bool, error) {
		if len(f.Jobs) >= maxJobs {
			return false, fmt.Errorf("there are %d jobs, the most that an agent may have; remove one first", len(f.Jobs))
		}
		f.Jobs = append(f.Jobs, j)
		return true, nil
	})
	return j, err
}

// UpdateJob changes the job with an id or name, and computes its next run.
func (s *Store) UpdateJob(name string, now time.Time, change func(*Job)) (updated Job, err error) {
	_, err = s.updateJobs(func(f *jobFile) (bool, error) {
		j, findErr := s.findJob(f, name)
		if findErr != nil {
			return false, findErr
		}
		change(j)
		if nextErr := j.validateAndReschedule(now); nextErr != nil {
			return false, nextErr
		}
		updated = *j
		return true, nil
	})
	return updated, err
}

// RemoveJob removes the job with an id or name. A running run continues.
func (s *Store) RemoveJob(name string) (removed Job, err error) {
	_, err = s.updateJobs(func(f *jobFile) (bool, error) {
		j, findErr := s.findJob(f, name)
		if findErr != nil {
			return false, findErr
		}
		removed = *j
		f.Jobs = slices.DeleteFunc(f.Jobs, func(other Job) bool { return other.ID == removed.ID })
		return true, nil
	})
	return removed, err
}
