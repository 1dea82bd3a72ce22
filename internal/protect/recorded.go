package protect

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// workTreeLine matches the setting core.worktree in a git configuration, and remoteLine the settings of remotes.
var (
	workTreeLine = lazyregexp.New(`(?im)^\s*worktree\s*=\s*(.*?)\s*$`)
	remoteLine   = lazyregexp.New(`(?im)^\s*(?:url|pushurl|remote|pushremote|pushdefault)[ \t]*=[ \t]*(?:file://)?(/.*?|[^:\n]*?)[ \t]*$`)
)

// matchRecordedPath returns an entry for the path of a symlink if git follows a recorded path through it. The symlink
// could lead git to other files than those that were checked.
func (r *Rules) matchRecordedPath(s relativePathSet) (hit ProtectedPath, ok bool) {
	for _, v := range s.seen {
		if !v.git {
			r.repos.Store(v.top, nil)
		}
	}
	r.scanned.Do(r.findRepositoriesNearTop)
	r.repos.Range(func(top, _ any) bool {
		for path, entry := range findRecordedPaths(gitDirOf(top.(string))) {
			if paths.Within(s.path, path) {
				hit, ok = ProtectedPath{Entry: entry, Ask: true, Top: top.(string), Path: s.path}, true
			}
		}
		return !ok
	})
	return hit, ok
}

// findRepositoriesNearTop adds the repositories near the top of the workspace to those known.
func (r *Rules) findRepositoriesNearTop() {
	_ = filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil //nolint:nilerr // closed to this user, or gone
		case e.Name() == GitDir || strings.Count(r.RelativeName(path), "/") >= maxRepoDepth:
			return fs.SkipDir
		}
		r.classifyDir(path)
		return nil
	})
}

// findRecordedPaths returns the paths of alternates and of submodules' work trees that a git directory records, each
// with the entry of its file.
func findRecordedPaths(git string) map[string]string {
	found := map[string]string{}
	add := func(dir, line, entry string) {
		if path := pathInLine(dir, line); path != "" {
			found[path] = entry
		}
	}
	objects := filepath.Join(git, "objects")
	text, _ := smallfile.Read(filepath.Join(objects, "info", "alternates"), maxJudged)
	for line := range strings.Lines(string(text)) {
		add(objects, line, ".git/objects/info/alternates")
	}
	addRemotes := func(git string, config []byte) {
		for _, m := range remoteLine().FindAllSubmatch(config, -1) {
			for _, top := range workTreesOf(git) {
				add(top, string(m[1]), ".git/config")
			}
		}
	}
	config, _ := smallfile.Read(filepath.Join(git, "config"), maxJudged)
	addRemotes(git, config)
	_ = filepath.WalkDir(filepath.Join(git, "modules"), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // there are no submodules
		case e.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "hooks"}, e.Name()):
			return fs.SkipDir
		case e.Name() != "config":
			return nil
		}
		text, _ := smallfile.Read(path, maxJudged)
		for _, m := range workTreeLine().FindAllStringSubmatch(string(text), -1) {
			add(filepath.Dir(path), m[1], ".git/config")
		}
		addRemotes(filepath.Dir(path), text)
		return nil
	})
	return found
}

// gitDirOf returns the git directory of a work tree, or a directory itself that is one.
func gitDirOf(top string) string {
	if isGitDir(top, newExistsFunc(top)) {
		return top
	}
	text, err := smallfile.Read(filepath.Join(top, GitDir), maxJudged)
	if to, ok := strings.CutPrefix(string(text), gitLinkPrefix); err == nil && ok {
		return resolvePathInLine(top, to)
	}
	return filepath.Join(top, GitDir)
}

// workTreesOf returns the work trees of a git directory. That of a bare repository is the directory itself, from which git
// takes relative paths then.
func workTreesOf(git string) (tops []string) {
	if filepath.Base(git) == GitDir {
		tops = append(tops, filepath.Dir(git))
	}
	text, _ := smallfile.Read(filepath.Join(git, "config"), maxJudged)
	if m := workTreeLine().FindSubmatch(text); m != nil {
		tops = append(tops, pathInLine(git, string(m[1])))
	}
	if tops == nil {
		tops = append(tops, git)
	}
	linked, _ := filepath.Glob(filepath.Join(git, "worktrees", "*", "gitdir"))
	for _, file := range linked {
		text, _ := smallfile.Read(file, maxJudged)
		tops = append(tops, filepath.Dir(pathInLine(filepath.Dir(file), string(text))))
	}
	return tops
}

// superproject returns the work tree of the repository that has the git directory of a submodule; "" if git is not one.
func superproject(git string) (top string) {
	for at := filepath.Dir(git); len(at) > 1; at = filepath.Dir(at) {
		super := filepath.Dir(at)
		if filepath.Base(at) != "modules" || !isGitDir(super, newExistsFunc(super)) {
			continue
		}
		if strings.EqualFold(filepath.Base(super), GitDir) {
			top = filepath.Dir(super)
		} else if text, err := smallfile.Read(filepath.Join(super, "gitdir"), maxJudged); err == nil { // a linked work tree
			top = filepath.Dir(resolvePathInLine(super, string(text)))
		}
	}
	return top
}
