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

// gitDirRules list known files in a git directory. Patterns are in lower case and relative to it.
type gitDirRules struct {
	Free     []string          `json:"free"`     // data files; `/**` at the end matches a directory and all below
	Judged   map[string]string `json:"judged"`   // files whose content matters, with the rule for it
	Symlinks []string          `json:"symlinks"` // may be symlinks
	// Settings are settings that name neither a program nor further settings. `*` is a subsection, and a name that ends
	// with a dot stands for all settings of a section.
	Settings []string `json:"settings"`
}

//go:embed gitdir.json
var gitTable []byte

// knownInGit returns the built-in rules for git directories.
var knownInGit = sync.OnceValue(func() (g gitDirRules) {
	if err := json.Unmarshal(gitTable, &g); err != nil {
		panic(err) // a test reads them
	}
	return g
})

// relativePathSet is a path with its relative forms: one for the workspace and for each repository and git directory above
// it.
type relativePathSet struct {
	path string
	seen []relativePath
}

// relativePath is a path relative to the workspace, to a repository or to a git directory that contains it.
type relativePath struct {
	top   string
	git   bool
	parts []string // in lower case
	hooks []string // of a repository with core.hooksPath: that directory, in lower case
}

func (s relativePathSet) childForms(name string) relativePathSet {
	next := relativePathSet{path: strings.TrimSuffix(s.path, string(filepath.Separator)) + string(filepath.Separator) + name}
	for _, v := range s.seen {
		next.seen = append(next.seen, relativePath{v.top, v.git, append(slices.Clip(v.parts), strings.ToLower(name)), v.hooks})
	}
	return next
}

// addRelativeForms adds the forms relative to s itself, if s is the top of the workspace or of a repository, or a git
// directory. has reports whether s contains a name.
func (r *Rules) addRelativeForms(s *relativePathSet, has func(string) bool) {
	if paths.Within(r.dir, s.path) && (s.path == r.dir || slices.ContainsFunc(repositoryDirs, has)) {
		s.seen = append(s.seen, relativePath{top: s.path, hooks: r.hooksDirOf(s.path)})
	}
	if isGitDir(s.path, has) {
		s.seen = append(s.seen, relativePath{top: s.path, git: true})
	}
}

// isGitDir reports whether git accepts a directory as git directory or common directory. A common directory needs no
// HEAD.
func isGitDir(dir string, has func(string) bool) bool {
	if strings.EqualFold(filepath.Base(dir), GitDir) {
		return true
	}
	if has("refs") && has("objects") {
		return slices.ContainsFunc([]string{"HEAD", "config", "hooks", "worktrees"}, has)
	}
	return has("commondir") && has("HEAD")
}

// HoldsGitDir reports whether a directory is a git directory only as long as it has an entry at this path.
func HoldsGitDir(path string) bool {
	dir, name := filepath.Split(path)
	has := newExistsFunc(dir)
	hasWithout := func(other string) bool { return !strings.EqualFold(other, name) && has(other) }
	return isGitDir(dir, has) && !isGitDir(dir, hasWithout)
}

// isCompleteGitDir reports whether a directory has all entries that git requires.
func isCompleteGitDir(has func(string) bool) bool {
	return has("HEAD") && (has("refs") && has("objects") || has("commondir"))
}

// repositoryDirs are the directories and files at the top of repositories of version control systems, in lower case.
var repositoryDirs = []string{GitDir, ".hg", ".jj", ".sl", "_darcs", ".pijul", ".svn", ".bzr", ".fslckout", "_fossil_"}

// IsRepository reports whether a directory is the top of a repository.
func IsRepository(dir string) bool { return slices.ContainsFunc(repositoryDirs, newExistsFunc(dir)) }

// mayCompleteGitDir reports whether a new entry with this name may turn its directory into a git directory or the top
// of a repository.
func mayCompleteGitDir(name string) bool {
	switch strings.ToLower(name) {
	case "head", "objects", "refs", "commondir", "config", "hooks", "worktrees":
		return true
	}
	return slices.Contains(repositoryDirs, strings.ToLower(name))
}

// newExistsFunc returns a function that reports whether a name exists in a directory. Names that can't be looked up
// count as existing.
func newExistsFunc(dir string) func(string) bool {
	return func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
}

// newPathForms returns the absolute and the relative forms of a path without symlinks. A path where nothing is
// protected has no relative forms.
func (r *Rules) newPathForms(name string) relativePathSet {
	if r == nil {
		return relativePathSet{path: name}
	}
	top, inside := r.dir, ""
	if below, ok := paths.RelativeWithin(r.dir, name); ok {
		inside = below
	} else if r.outside == nil || !r.outside(name) {
		return relativePathSet{path: name}
	} else {
		top = filepath.VolumeName(name) + string(filepath.Separator)
		inside, _ = paths.RelativeWithin(top, name)
	}
	s := relativePathSet{path: top}
	if inside == "." {
		return s
	}
	parts := strings.Split(inside, string(filepath.Separator))
	for i, part := range parts {
		has := newExistsFunc(s.path)
		if d := r.classifyDir(s.path); d.top || d.git || s.path == r.dir {
			r.addRelativeForms(&s, has)
		}
		if i == len(parts)-1 && mayCompleteGitDir(part) && !isGitDir(s.path, has) &&
			isGitDir(s.path, func(name string) bool { return strings.EqualFold(name, part) || has(name) }) {
			s.seen = append(s.seen, relativePath{top: s.path, git: true}) // the name makes it a git directory
		}
		s = s.childForms(part)
	}
	return s
}

// cachedDirKind tells whether a directory is the top of a repository or a git directory. It is valid while inode and
// change time stay the same.
type cachedDirKind struct {
	inode    uint64
	changed  int64 // change time, which programs can't set
	top, git bool
}

// classifyDir returns the kind of a directory, from the cache if the directory is unchanged. The cache matters because
// each change of a file needs the kind of every directory above it.
func (r *Rules) classifyDir(dir string) cachedDirKind {
	inode, changed := inodeAndChangeTime(dir)
	if d, ok := r.dirs.Load(dir); ok && d.(cachedDirKind).inode == inode && d.(cachedDirKind).changed == changed {
		return d.(cachedDirKind)
	}
	has := newExistsFunc(dir)
	d := cachedDirKind{inode, changed, slices.ContainsFunc(repositoryDirs, has), isGitDir(dir, has)}
	if d.top || d.git {
		r.repos.Store(dir, nil)
	}
	if changed != 0 && time.Since(time.Unix(0, changed)) > tick {
		r.dirs.Store(dir, d)
	}
	return d
}

// tick is longer than the granularity of file times.
const tick = 20 * time.Millisecond

// Match returns the entry that protects an absolute path whose symlinks are resolved.
func (r *Rules) Match(name string) (ProtectedPath, bool) { return r.matchPath(r.newPathForms(name), 0) }

// MatchWithType is Match for a file of a known type.
func (r *Rules) MatchWithType(name string, mode fs.FileMode) (ProtectedPath, bool) {
	return r.matchPath(r.newPathForms(name), mode)
}

// ProtectsOnlyFilesIn reports whether the path is a directory in which only the files are protected, not the directory
// itself.
func (h ProtectedPath) ProtectsOnlyFilesIn(path string, mode fs.FileMode) bool {
	return mode.IsDir() && h.Path == path && (h.ContentRule == "gitlink" || h.Entry == hooks)
}

// matchPath returns the strictest entry for a path. mode is the type of the file; 0 means regular or unknown.
func (r *Rules) matchPath(s relativePathSet, mode fs.FileMode) (hit ProtectedPath, ok bool) {
	if r == nil {
		return hit, false
	}
	keep := func(found ProtectedPath, matched bool) {
		if matched && (!ok || found.isStricterThan(hit)) {
			hit, ok = found, true
		}
	}
	base := strings.ToLower(filepath.Base(s.path))
	if base == GitDir && len(s.seen) > 0 && r.other != nil {
		found := ProtectedPath{Entry: GitDir, Ask: r.other.ask, ContentRule: "gitlink", Top: filepath.Dir(s.path), Path: s.path}
		if mode&fs.ModeType&^fs.ModeDir != 0 {
			found.ContentRule = ""
		}
		keep(found, true)
	}
	if mode&fs.ModeSymlink != 0 {
		keep(r.matchRecordedPath(s))
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
				keep(r.matchInGitDir(s, v, 0))
			} else {
				keep(r.matchInGitDir(s, v, mode))
			}
			continue
		}
		keep(r.matchHooksDir(s, v, mode&fs.ModeSymlink != 0))
		for _, e := range slices.Concat(r.entries[v.parts[0]], r.entries[patterns]) {
			if matchesPrefix(v.parts, e.parts) || mode&fs.ModeSymlink != 0 && isParentOfEntry(v, e) {
				keep(ProtectedPath{e.text, e.ask, contentRuleOf(e), v.top, s.ancestorAbove(len(v.parts) - len(e.parts))}, true)
			}
		}
	}
	return hit, ok
}

// isParentOfEntry reports whether an entry is at or below a path.
func isParentOfEntry(v relativePath, e protectEntry) bool {
	return len(v.parts) <= len(e.parts) && matchesPrefix(v.parts, e.parts[:len(v.parts)])
}

// contentRuleOf returns the rule for the content of a named entry, or "".
func contentRuleOf(e protectEntry) string {
	if e.text == ".gitmodules" && e.ask {
		return "config"
	}
	return ""
}

// matchInGitDir returns the entry for a path in a git directory.
func (r *Rules) matchInGitDir(s relativePathSet, v relativePath, mode fs.FileMode) (ProtectedPath, bool) {
	known := knownInGit()
	parts := slices.Clone(v.parts)
	last := &parts[len(parts)-1]
	for strings.HasSuffix(*last, ".lock") { // git commit --patch locks index.lock
		*last = strings.TrimSuffix(*last, ".lock")
	}
	locked := *last != v.parts[len(parts)-1]
	rel := strings.Join(parts, "/")
	matches := func(pattern string) bool { return matchesGitDirPattern(pattern, rel, parts) }
	judge := known.Judged[rel]
	for pattern, rule := range known.Judged {
		if judge == "" && matches(pattern) {
			judge = rule
		}
	}
	free := judge == "" && slices.ContainsFunc(known.Free, matches)
	if mode&fs.ModeType&^fs.ModeDir != 0 && !slices.ContainsFunc(known.Symlinks, matches) {
		free, judge = false, ""
	}
	hit := ProtectedPath{Top: v.top, Path: s.path}
	for _, e := range r.git {
		if !matchesPrefix(parts, e.parts) || free && e.builtin {
			continue
		}
		hit.Entry, hit.Ask, hit.Path = e.text, e.ask, s.ancestorAbove(len(parts)-len(e.parts))
		if hit.Ask {
			hit.ContentRule = judge
		}
		return hit, !locked || hit.ContentRule == ""
	}
	if free || judge != "" || parts[0] == "hooks" || r.other == nil { // known, or allowed by the operator
		return hit, false
	}
	hit.Entry, hit.Ask = GitDir, r.other.ask
	return hit, true
}

func matchesGitDirPattern(pattern, rel string, parts []string) bool {
	if dir, tree := strings.CutSuffix(pattern, "/**"); tree {
		return matchesPrefix(parts, strings.Split(dir, "/"))
	}
	ok, _ := path.Match(pattern, rel)
	return ok
}

// ancestorAbove returns the directory that is a number of steps above the path.
func (s relativePathSet) ancestorAbove(steps int) string {
	at := s.path
	for range steps {
		at = filepath.Dir(at)
	}
	return at
}

// matchesPrefix reports whether the first names of a path match patterns.
func matchesPrefix(names, patterns []string) bool {
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

// RelativeName returns a path relative to the workspace, with slashes. Paths outside stay unchanged.
func (r *Rules) RelativeName(path string) string {
	if inside, ok := paths.RelativeWithin(r.dir, path); ok {
		return filepath.ToSlash(inside)
	}
	return path
}
