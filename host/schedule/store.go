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
	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

const (
	version  = 1
	maxBytes = 32 << 20 // of a file that is read
	// maxJobs is how many jobs an agent may have: one that adds a job in a job stops there.
	maxJobs = 1000
)

// Dir is the directory of an agent's store on an instance root.
func Dir(home, agent string) string { return filepath.Join(home, "schedule", agent) }

// Store is the jobs of one agent, and what became of them. Several processes may use it at once.
type Store struct {
	dir   string
	shows func(Job) bool // nil for all jobs
}

// Open returns the store in a directory. It makes nothing.
func Open(dir string) *Store { return &Store{dir: dir} }

// Only returns the store with the jobs that shows accepts: the others are neither found nor listed.
func (s *Store) Only(shows func(Job) bool) *Store { return &Store{s.dir, shows} }

// file is what the jobs' file has.
type file struct {
	Version int            `json:"version"`
	Jobs    []Job          `json:"jobs"`
	Unknown jsontext.Value `json:",embed"`
}

// parse reads a jobs' file. A job whose schedule is wrong is no reason to have none.
func parse(text []byte) (*file, error) {
	f := &file{}
	if err := jsonv2.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if f.Version != version {
		return nil, fmt.Errorf("it has version %d; this picoclaw reads version %d", f.Version, version)
	}
	seen := map[string]bool{}
	for i, j := range f.Jobs {
		if j.ID == "" || seen[j.ID] {
			return nil, fmt.Errorf("jobs[%d] has no id of its own", i)
		}
		seen[j.ID] = true
	}
	return f, nil
}

func (f *file) text() ([]byte, error) {
	if f.Jobs == nil {
		f.Jobs = []Job{}
	}
	text, err := jsonv2.Marshal(f, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// find returns the job with an id, or the only one with a name.
func (s *Store) find(f *file, name string) (*Job, error) {
	var found []*Job
	var known []string
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if s.shows != nil && !s.shows(*j) {
			continue
		}
		if j.ID == name {
			return j, nil
		}
		if j.Name == name {
			found = append(found, j)
		}
		known = append(known, j.ID, j.Name)
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no job %q%s", name, nearest.Suggest(name, known))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d jobs have the name %q: give the id of the one that is meant", len(found), name)
}

func (s *Store) path() string { return filepath.Join(s.dir, "jobs.json") }

// read returns what the file has, and which version of it that is: nil if there is none.
func (s *Store) read() (*file, fs.FileInfo, error) {
	text, info, err := smallfile.ReadStat(s.path(), maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &file{Version: version}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.path(), err)
	}
	f, err := parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the jobs in %s can't be read: %w; put back a copy of it, or move it away and add them again",
			s.path(), err)
	}
	return f, info, nil
}

// change reads the file, has it changed, and writes it if it was: in one turn, which processes take one after the
// other. It returns the version that is there then.
func (s *Store) change(apply func(*file) (changed bool, err error)) (info fs.FileInfo, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	turn, err := filelock.Open(filepath.Join(s.dir, ".lock"), filelock.Wait)
	if err != nil {
		return nil, fmt.Errorf("lock the jobs: %w", err)
	}
	defer func() { _ = turn.Close() }()
	f, info, err := s.read()
	if err != nil {
		return nil, err
	}
	if changed, err := apply(f); err != nil || !changed {
		return info, err
	}
	text, err := f.text()
	if err == nil {
		err = atomicfile.Write(s.path(), text, 0o600)
	}
	if err == nil {
		info, err = os.Stat(s.path())
	}
	if err != nil {
		return nil, fmt.Errorf("write the jobs: %w", err)
	}
	return info, nil
}

// Jobs returns all jobs.
func (s *Store) Jobs() ([]Job, error) {
	f, _, err := s.read()
	if err != nil {
		return nil, err
	}
	if s.shows != nil {
		f.Jobs = slices.DeleteFunc(f.Jobs, func(j Job) bool { return !s.shows(j) })
	}
	return f.Jobs, nil
}

// Job returns the job with an id, or the only one with a name.
func (s *Store) Job(name string) (Job, error) {
	f, _, err := s.read()
	if err != nil {
		return Job{}, err
	}
	j, err := s.find(f, name)
	if err != nil {
		return Job{}, err
	}
	return *j, nil
}

// Add adds a job, and gives it an id and the time of its first run.
func (s *Store) Add(j Job, now time.Time) (Job, error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it does not fail
	j.ID, j.Enabled, j.State = hex.EncodeToString(id), true, State{}
	j.Payload.Kind = Turn
	j.CreatedAtMs = now.UnixMilli()
	j.DeleteAfterRun = j.Schedule.Kind == At
	if err := j.renew(now); err != nil {
		return Job{}, err
	}
	_, err := s.change(func(f *file) (bool, error) {
		if len(f.Jobs) >= maxJobs {
			return false, fmt.Errorf("there are %d jobs, as many as an agent may have: remove one first", len(f.Jobs))
		}
		f.Jobs = append(f.Jobs, j)
		return true, nil
	})
	return j, err
}

// Update changes the job with an id or name. When it runs next is found anew.
func (s *Store) Update(name string, now time.Time, change func(*Job)) (updated Job, err error) {
	_, err = s.change(func(f *file) (bool, error) {
		j, err := s.find(f, name)
		if err != nil {
			return false, err
		}
		change(j)
		if err := j.renew(now); err != nil {
			return false, err
		}
		updated = *j
		return true, nil
	})
	return updated, err
}

// Remove removes the job with an id or name. A run of it that goes on ends by itself.
func (s *Store) Remove(name string) (removed Job, err error) {
	_, err = s.change(func(f *file) (bool, error) {
		j, err := s.find(f, name)
		if err != nil {
			return false, err
		}
		removed = *j
		f.Jobs = slices.DeleteFunc(f.Jobs, func(other Job) bool { return other.ID == removed.ID })
		return true, nil
	})
	return removed, err
}
