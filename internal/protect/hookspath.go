package protect

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// gitHooks is the entry for a directory with git hooks in a work tree. It also protects the directory that core.hooksPath
// names.
const gitHooks = ".githooks"

var hooksPathLine = lazyregexp.New(`(?im)^\s*hookspath\s*=\s*"?([^"#;\r\n]*)`)

// cachedHooksDir is the value of core.hooksPath in a configuration file. It is valid while the file stays the same.
type cachedHooksDir struct {
	inode   uint64
	changed int64
	value   string
}

// hooksDirOf returns the directory that core.hooksPath of a repository names, relative to its top and in lower case; nil
// if it names none in the work tree. It does not follow include.path.
func (r *Rules) hooksDirOf(top string) []string {
	gitDir := filepath.Join(top, GitDir)
	if info, err := os.Lstat(gitDir); err != nil || info.Mode().IsRegular() {
		own, common, _ := readGitLink(top)
		if own == "" {
			return nil
		}
		gitDir = cmp.Or(common, own)
	}
	config := filepath.Join(gitDir, "config")
	inode, changed := inodeAndChangeTime(config)
	known, _ := r.configs.Load(config)
	cached, ok := known.(cachedHooksDir)
	if !ok || cached.inode != inode || cached.changed != changed {
		cached = cachedHooksDir{inode: inode, changed: changed}
		text, _ := smallfile.Read(config, maxJudged)
		for _, match := range hooksPathLine().FindAllSubmatch(text, -1) {
			cached.value = strings.TrimSpace(string(match[1])) // the last one counts
		}
		r.configs.Store(config, cached)
	}
	dir := cached.value
	if dir == "" || dir[0] == '~' {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	below, ok := paths.RelativeWithin(top, dir)
	if !ok || below == "." {
		return nil
	}
	return strings.Split(strings.ToLower(filepath.ToSlash(below)), "/")
}

// matchHooksDir returns the entry gitHooks for a path in the directory that core.hooksPath names, and for a symlink that
// would replace the directory or one above it.
func (r *Rules) matchHooksDir(s relativePathSet, v relativePath, isSymlink bool) (hit ProtectedPath, ok bool) {
	for _, e := range r.entries[gitHooks] {
		common := min(len(v.parts), len(v.hooks))
		if e.text != gitHooks || common == 0 || len(v.parts) < len(v.hooks) && !isSymlink ||
			strings.Join(v.parts[:common], "/") != strings.Join(v.hooks[:common], "/") {
			continue
		}
		return ProtectedPath{e.text, e.ask, "", v.top, s.ancestorAbove(len(v.parts) - len(v.hooks))}, true
	}
	return hit, false
}
