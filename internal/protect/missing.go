package protect

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Missing is what is not to be changed at the top of a workspace and is not there.
type Missing struct {
	Paths []string

	parents map[string]time.Time // when something was made in their directories last; zero for those that are missing
	settled bool                 // a change after this shows in these times
}

// tick is longer than the clock of a file system stands still.
const tick = 20 * time.Millisecond

// Missing looks what is missing now.
func (r *Rules) Missing() *Missing {
	m := &Missing{parents: map[string]time.Time{}, settled: true}
	if r == nil {
		return m
	}
	for _, entries := range r.entries {
		for _, e := range entries {
			if e.ask || e.text == GitDir || strings.Contains(e.text, "*") {
				continue
			}
			at := filepath.Join(r.dir, filepath.FromSlash(e.text))
			if parent := filepath.Dir(at); m.parents[parent].IsZero() {
				m.parents[parent] = changed(parent)
				m.settled = m.settled && time.Since(m.parents[parent]) > tick
			}
			if _, err := os.Lstat(at); err != nil {
				m.Paths = append(m.Paths, at)
			}
		}
	}
	return m
}

// Same reports whether nothing can have come since: then all of it is still missing.
func (m *Missing) Same() bool {
	if !m.settled {
		return false
	}
	for dir, then := range m.parents {
		if !changed(dir).Equal(then) {
			return false
		}
	}
	return true
}

// changed is when a directory has last changed; zero for none.
func changed(dir string) time.Time {
	info, err := os.Lstat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
