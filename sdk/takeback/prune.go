package takeback

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// share is how long an archive of several operations may be, and how much is written before the bounds are looked at
// again.
func (j *Store) share() int64 { return min(fullArchive, j.options.MaxBytes/archiveShare) }

// wrote counts an operation that has an archive of its own.
func (j *Store) wrote(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(bytes)
}

// count counts what was written, and looks at the bounds now and then, beside the calls. The lock is held.
func (j *Store) count(bytes int64) {
	j.writes++
	if j.added += bytes; j.added > j.share() || j.writes%pruneEvery == 1 {
		j.added = 0
		j.pruning.Go(j.prune)
	}
}

// archive is a file of the journal.
type archive struct {
	path string
	info fs.FileInfo
}

// archives returns the files of the journal, the one that was written last first.
func (j *Store) archives() ([]archive, error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var all []archive
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), suffix) {
			all = append(all, archive{filepath.Join(j.dir, e.Name()), info})
		}
	}
	slices.SortFunc(all, func(a, b archive) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), strings.Compare(b.path, a.path))
	})
	return all, nil
}

// prune deletes the oldest archives until the journal is within its bounds, with room for what is written until the
// next time.
func (j *Store) prune() {
	all, err := j.archives()
	if err != nil {
		return
	}
	oldest, most := time.Now().Add(-j.options.MaxAge), j.options.MaxBytes-j.share()
	total := int64(0)
	for i, a := range all {
		if total += a.info.Size(); (i > 0 && total > most) || a.info.ModTime().Before(oldest) {
			_ = os.Remove(a.path)
		}
	}
}
