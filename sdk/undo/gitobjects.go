package undo

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// keepGitObjects blocks the deletion of new objects in git repositories that have changed since the operation. Later
// commits, refs and indexes may need these objects. A forced undo deletes them.
func (p *undoPlan) keepGitObjects() {
	if p.force {
		return
	}
	created := map[string][]*undoStep{} // by git directory
	for _, s := range p.steps {
		gitDir, _, isObject := strings.Cut(s.at, "/objects/")
		if isObject && s.blocked == "" && !s.done && s.Before == none && s.After != none && !p.Objects[s.After].isDir() {
			created[gitDir] = append(created[gitDir], s)
		}
	}
	for gitDir, steps := range created {
		if !slices.ContainsFunc(p.listRelatedGitDirs(gitDir), p.hasGitDataChanged) {
			continue
		}
		for _, s := range steps {
			s.blockStep(objectKept)
		}
	}
	p.dirs.closeAll()
}

// listRelatedGitDirs returns a git directory and those of the repositories around it, which may have it as a submodule.
func (p *undoPlan) listRelatedGitDirs(gitDir string) []string {
	all := []string{gitDir}
	for dir := filepath.Dir(gitDir); paths.Within(p.files.Dir(), dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "modules" {
			all = append(all, filepath.Dir(dir))
		}
		if other := filepath.Join(dir, ".git"); other != gitDir {
			all = append(all, other)
		}
	}
	return all
}

// hasGitDataChanged reports whether a ref, HEAD or index of a repository or its linked work trees changed after the
// operation.
func (p *undoPlan) hasGitDataChanged(gitDir string) (changed bool) {
	restored := map[string]bool{}
	for _, s := range p.steps {
		if name, ok := strings.CutPrefix(s.at, gitDir+"/"); ok && !strings.HasPrefix(name, "objects/") {
			changed = changed || s.blocked != ""
			restored[s.at] = true
		}
	}
	isFormer := func(v objectVersion) bool { return v.Changed <= p.Ended-int64(recentChange) || p.wasLeftByOperation(v) }
	check := func(d *cachedDir, name string, n *fileStat) bool {
		changed = changed || n.Mode.IsRegular() && !restored[filepath.Join(d.path, name)] &&
			!p.matchesVersion(objectVersion{n.ID, n.Changed}, isFormer)
		return !changed
	}
	for _, name := range []string{"HEAD", "index", "packed-refs"} {
		if d := p.dirs.openDir(gitDir); d != nil && !changed {
			if n, err := d.statName(name); err == nil && n != nil {
				check(d, name, n)
			}
		}
	}
	for _, dir := range []string{"refs", "worktrees"} {
		if !changed {
			p.dirs.walkTree(filepath.Join(gitDir, dir), check)
		}
	}
	return changed
}
