package takeback

import (
	"crypto/rand"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// staging is where what was moved waits until the directory that it was in is back.
type staging struct {
	tops   map[*Entry]string // the directory above both places of what was moved: to rename within it crosses no mount
	dirs   map[string]string // the directory for what waits, in each of those
	staged map[*Entry]string // where each is
}

// stagingName is how the name of such a directory begins.
const stagingName = ".picoclaw-undo-"

// newStaging finds the innermost directory above both places of each that has neither been made nor been moved.
func newStaging(all []present) staging {
	changed := map[string]bool{}
	for _, e := range all {
		changed[e.Path], changed[e.at] = true, true
	}
	s := staging{tops: map[*Entry]string{}, dirs: map[string]string{}, staged: map[*Entry]string{}}
	for _, e := range all {
		if e.Kind != Moved {
			continue
		}
		top := common(filepath.Dir(e.Path), filepath.Dir(e.at))
		for above := top; above != filepath.Dir(above); above = filepath.Dir(above) {
			if changed[above] {
				top = filepath.Dir(above)
			}
		}
		s.tops[e.Entry] = top
	}
	return s
}

// common is the innermost directory that two are in or are.
func common(a, b string) string {
	for !strings.HasPrefix(b+"/", strings.TrimSuffix(a, "/")+"/") {
		a = filepath.Dir(a)
	}
	return a
}

// stage moves what was moved aside.
func (u *undoing) stage(e *Entry) error {
	s, top := &u.aside, u.aside.tops[e]
	if s.dirs[top] == "" {
		dir := filepath.Join(top, stagingName+rand.Text()[:8])
		if err := u.mkdir(dir); err != nil {
			return err
		}
		s.dirs[top] = dir
	}
	to := filepath.Join(s.dirs[top], strconv.Itoa(len(s.staged)))
	if err := u.rename(top, e.Now, to); err != nil {
		return err
	}
	s.staged[e] = to
	return nil
}

// rename gives what is at a path another one within a directory.
func (u *undoing) rename(top, from, to string) error {
	u.notice(mutation.Rename, from, to)
	for _, path := range []string{from, to} {
		if _, _, err := u.in(path); err != nil { // also where a link on the way leads elsewhere
			return err
		}
	}
	dir, _, err := u.in(filepath.Join(top, "x"))
	if err != nil {
		return err
	}
	relative := func(path string) string { return strings.TrimPrefix(path[len(top):], "/") }
	err = dir.Rename(relative(from), relative(to))
	if info := u.stat(to); info != nil && info.IsDir() {
		u.record.dirs.forget()
	}
	return err
}

// closeStaging deletes the directories for what waited.
func (u *undoing) closeStaging() error {
	for _, dir := range u.aside.dirs {
		if info := u.stat(dir); info != nil {
			if err := u.remove(dir, info); err != nil {
				return err
			}
		}
	}
	return nil
}
