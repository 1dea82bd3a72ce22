package protect

import (
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// gitRules say what is known in a git directory. Patterns are in lower case and relative to it.
type gitRules struct {
	Free     []string          `json:"free"`     // data; `/**` at the end matches the directory and all below
	Judged   map[string]string `json:"judged"`   // files whose content decides, and the rule for it
	Symlinks []string          `json:"symlinks"` // may be symlinks
}

//go:embed gitdir.json
var gitTable []byte

// knownInGit returns the rules for git directories.
var knownInGit = sync.OnceValue(func() (g gitRules) {
	if err := json.Unmarshal(gitTable, &g); err != nil {
		panic(err) // a test reads them
	}
	return g
})

// spot is a path as seen from the tops and git directories above it.
type spot struct {
	path string
	seen []view
}

// view is a path relative to one of these directories.
type view struct {
	top   string
	git   bool
	parts []string // in lower case
}

// child returns the spot of an entry in a directory.
func (s spot) child(name string) spot {
	next := spot{path: strings.TrimSuffix(s.path, string(filepath.Separator)) + string(filepath.Separator) + name}
	for _, v := range s.seen {
		next.seen = append(next.seen, view{v.top, v.git, append(slices.Clip(v.parts), strings.ToLower(name))})
	}
	return next
}

// enter adds the views from a directory itself. Has reports whether a name exists in it.
func (r *Rules) enter(s *spot, has func(string) bool) {
	if paths.Within(r.dir, s.path) && (s.path == r.dir || has(GitDir)) {
		s.seen = append(s.seen, view{top: s.path})
	}
	if isGitDir(s.path, has) {
		s.seen = append(s.seen, view{top: s.path, git: true})
	}
}

// isGitDir reports whether git would take a directory for a git directory, or for the common directory of one. It does
// not rely on HEAD alone, since a common directory needs none.
func isGitDir(dir string, has func(string) bool) bool {
	if strings.EqualFold(filepath.Base(dir), GitDir) {
		return true
	}
	if has("refs") && has("objects") {
		return slices.ContainsFunc([]string{"HEAD", "config", "hooks", "worktrees"}, has)
	}
	return has("commondir") && has("HEAD")
}

// acts reports whether git works in a git directory with these names.
func acts(has func(string) bool) bool {
	return has("HEAD") && (has("refs") && has("objects") || has("commondir"))
}

// mayComplete reports whether a new entry of a name may make its directory a git directory or the top of a repository.
func mayComplete(name string) bool {
	switch strings.ToLower(name) {
	case "head", "objects", "refs", "commondir", "config", "hooks", "worktrees", GitDir:
		return true
	}
	return false
}

// on returns the function that reports which names exist in a directory. Names that cannot be looked up exist.
func on(dir string) func(string) bool {
	return func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
}

// spot returns the spot of an absolute path without symlinks on the way. It has no views where nothing is protected.
func (r *Rules) spot(name string) spot {
	if r == nil {
		return spot{path: name}
	}
	top, inside := r.dir, ""
	if below, ok := paths.Below(r.dir, name); ok {
		inside = below
	} else if r.outside == nil || !r.outside(name) {
		return spot{path: name}
	} else {
		top = filepath.VolumeName(name) + string(filepath.Separator)
		inside, _ = paths.Below(top, name)
	}
	s := spot{path: top}
	if inside == "." {
		return s
	}
	for _, part := range strings.Split(inside, string(filepath.Separator)) {
		if d := r.dirAt(s.path); d.top || d.git || s.path == r.dir {
			r.enter(&s, on(s.path))
		}
		s = s.child(part)
	}
	return s
}

// dirState is what a directory was when it was looked at last.
type dirState struct {
	inode    uint64
	changed  int64 // its change time, which programs cannot set
	top, git bool
}

// dirAt looks at a directory, unless it has not changed since it was looked at last. Each change of a file passes
// through here, once for each directory above.
func (r *Rules) dirAt(dir string) dirState {
	inode, changed := changeOf(dir)
	if d, ok := r.dirs.Load(dir); ok && d.(dirState).inode == inode && d.(dirState).changed == changed {
		return d.(dirState)
	}
	has := on(dir)
	d := dirState{inode, changed, has(GitDir), isGitDir(dir, has)}
	if changed != 0 && time.Since(time.Unix(0, changed)) > tick {
		r.dirs.Store(dir, d)
	}
	return d
}

// tick is longer than the clock of a file system stands still.
const tick = 20 * time.Millisecond

// Match finds the entry that protects an absolute path without symlinks on the way.
func (r *Rules) Match(name string) (Hit, bool) { return r.match(r.spot(name), 0) }

// MatchType is like Match for a file of a known type.
func (r *Rules) MatchType(name string, mode fs.FileMode) (Hit, bool) {
	return r.match(r.spot(name), mode)
}

// Inert reports whether a hit is a directory that acts by its files alone.
func (h Hit) Inert(path string, mode fs.FileMode) bool {
	return mode.IsDir() && h.Path == path && (h.Judge == "gitlink" || h.Entry == hooks)
}

// match finds the strictest entry for a spot. Mode is the type of the file there, 0 for a regular or unknown one.
func (r *Rules) match(s spot, mode fs.FileMode) (hit Hit, ok bool) {
	if r == nil {
		return hit, false
	}
	keep := func(found Hit, matched bool) {
		if matched && (!ok || found.stricter(hit)) {
			hit, ok = found, true
		}
	}
	base := strings.ToLower(filepath.Base(s.path))
	if base == GitDir && len(s.seen) > 0 && r.other != nil {
		found := Hit{Entry: GitDir, Ask: r.other.ask, Judge: "gitlink", Top: filepath.Dir(s.path), Path: s.path}
		if mode&fs.ModeType&^fs.ModeDir != 0 {
			found.Judge = ""
		}
		keep(found, true)
	}
	inner := -1 // the innermost git directory, which decides on the type
	for i, v := range s.seen {
		if v.git {
			inner = i
		}
	}
	for i, v := range s.seen {
		if v.git {
			if i < inner {
				keep(r.matchGit(s, v, 0))
			} else {
				keep(r.matchGit(s, v, mode))
			}
			continue
		}
		for _, e := range r.entries[v.parts[0]] {
			matched := startsWith(v.parts, e.parts) || mode&fs.ModeSymlink != 0 && leadsTo(v, e)
			keep(Hit{e.text, e.ask, judgeOf(e), v.top, s.above(len(v.parts) - len(e.parts))}, matched)
		}
	}
	return hit, ok
}

// leadsTo reports whether an entry lies below a path, or is it.
func leadsTo(v view, e entry) bool {
	return len(v.parts) <= len(e.parts) && startsWith(v.parts, e.parts[:len(v.parts)])
}

// judgeOf returns the rule for the content of a named entry.
func judgeOf(e entry) string {
	if e.text == ".gitmodules" && e.ask {
		return "config"
	}
	return ""
}

// matchGit finds the entry for a path in a git directory.
func (r *Rules) matchGit(s spot, v view, mode fs.FileMode) (Hit, bool) {
	known := knownInGit()
	parts := slices.Clone(v.parts)
	last := &parts[len(parts)-1]
	*last = strings.TrimSuffix(*last, ".lock")
	locked := *last != v.parts[len(parts)-1]
	rel := strings.Join(parts, "/")
	judge := known.Judged[rel]
	matches := func(pattern string) bool { return matchesFree(pattern, rel, parts) }
	free := judge == "" && slices.ContainsFunc(known.Free, matches)
	if mode&fs.ModeType&^fs.ModeDir != 0 && !slices.ContainsFunc(known.Symlinks, matches) {
		free, judge = false, ""
	}
	hit := Hit{Top: v.top, Path: s.path}
	for _, e := range r.git {
		if !startsWith(parts, e.parts) || free && e.builtin {
			continue
		}
		hit.Entry, hit.Ask, hit.Path = e.text, e.ask, s.above(len(parts)-len(e.parts))
		if hit.Ask {
			hit.Judge = judge
		}
		return hit, !locked || hit.Judge == ""
	}
	if free || judge != "" || parts[0] == "hooks" || r.other == nil { // known, or allowed by the operator
		return hit, false
	}
	hit.Entry, hit.Ask = GitDir, r.other.ask
	return hit, true
}

func matchesFree(pattern, rel string, parts []string) bool {
	if dir, tree := strings.CutSuffix(pattern, "/**"); tree {
		return startsWith(parts, strings.Split(dir, "/"))
	}
	ok, _ := path.Match(pattern, rel)
	return ok
}

// above returns the directory so many steps above a spot.
func (s spot) above(steps int) string {
	at := s.path
	for range steps {
		at = filepath.Dir(at)
	}
	return at
}

// startsWith reports whether the first names of a path match patterns.
func startsWith(names, patterns []string) bool {
	if len(names) < len(patterns) {
		return false
	}
	for i, pattern := range patterns {
		if ok, _ := path.Match(pattern, names[i]); !ok {
			return false
		}
	}
	return true
}

// Name returns a path as the workspace has it.
func (r *Rules) Name(path string) string {
	if inside, ok := paths.Below(r.dir, path); ok {
		return filepath.ToSlash(inside)
	}
	return path
}
