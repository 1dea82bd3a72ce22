package protect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// Loose reports whether git and editors change a judged file in place, so that only the content that stays counts.
func (h Hit) Loose() bool {
	return slices.Contains([]string{"worktree", "todo", "strategy", "options"}, h.Judge)
}

// Unchanged reports whether git acts on a judged file as before, by the risks of its contents.
func (h Hit) Unchanged(before, after []string) bool {
	if h.Judge == "todo" { // done steps go
		return !slices.ContainsFunc(after, func(line string) bool { return !slices.Contains(before, line) })
	}
	return slices.Equal(before, after)
}

// Risks returns the lines of a judged file at a path that git acts on and that are not known to be harmless. Nil stands
// for no file.
func (r *Rules) Risks(h Hit, path string, text []byte) (risky []string) {
	if text == nil {
		return nil
	}
	dir := filepath.Dir(path)
	switch h.Judge {
	case "config":
		return riskySettings(text, func(to string) bool { return r.mayBeWorkTree(target(dir, to), dir) })
	case "gitlink":
		line, ok := strings.CutPrefix(string(text), "gitdir:")
		to := exactTarget(dir, line)
		return unless(text, ok && r.isGitDir(to) && !r.isCheckedOut(dir, to))
	case "commondir":
		to := exactTarget(dir, string(text))
		return unless(text, r.isGitDir(to) && (paths.Within(to, dir) || !isAmong(r.dir, to)))
	case "worktree":
		return unless(text, paths.Within(r.dir, target(dir, string(text))))
	case "strategy":
		return unless(text, builtinStrategy(string(text)))
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && r.isRisky(h, line) {
			risky = append(risky, line)
		}
	}
	return risky
}

// isRisky reports whether git would act on a line of a file whose lines count by themselves.
func (r *Rules) isRisky(h Hit, line string) bool {
	switch h.Judge {
	case "alternates":
		return !paths.Within(r.dir, target(filepath.Join(h.Top, "objects"), line))
	case "attributes":
		configured := drivers(h.Top)
		return slices.ContainsFunc(strings.Fields(line), func(word string) bool {
			key, driver, set := strings.Cut(word, "=")
			return set && slices.Contains([]string{"filter", "diff", "merge"}, key) && slices.Contains(configured, driver)
		})
	case "todo":
		command, _, _ := strings.Cut(line, " ")
		return command == "x" || command == "exec"
	case "options":
		key, value, _ := strings.Cut(line, "=")
		return strings.TrimSpace(key) == "strategy" && !builtinStrategy(value)
	}
	return true
}

// drivers returns the names of the filters, diff and merge drivers that a repository configures.
func drivers(git string) (names []string) {
	text, _ := smallfile.Read(filepath.Join(git, "config"), maxJudged)
	for line := range strings.Lines(string(text)) {
		if m := driverLine().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

// builtinStrategy reports whether a merge strategy is git's own. Any other one is a program.
func builtinStrategy(text string) bool {
	known := []string{"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"}
	return slices.Contains(known, strings.TrimSpace(text))
}

// target returns where a line of a file leads that is relative to a directory.
func target(dir, line string) string {
	to := filepath.FromSlash(strings.TrimSpace(line))
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	real, err := paths.Resolve(filepath.Clean(to))
	if err != nil {
		return ""
	}
	return real
}

// exactTarget is like target for a line that leads through no symlink, which could lead elsewhere later.
func exactTarget(dir, line string) string {
	to := filepath.FromSlash(strings.TrimSpace(line))
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if real := target(dir, line); real == filepath.Clean(to) {
		return real
	}
	return ""
}

// isGitDir reports whether a path is a git directory in the workspace.
func (r *Rules) isGitDir(path string) bool {
	return paths.Within(r.dir, path) && isGitDir(path, on(path)) && isDir(path)
}

// isAmong reports whether git may check out files into a git directory, hooks for example, when it checks out files
// into a directory: it never does below a name .git.
func isAmong(dir, git string) bool {
	isGit := func(name string) bool { return strings.EqualFold(name, GitDir) }
	below, ok := paths.Below(dir, git)
	return ok && !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), isGit)
}

// isCheckedOut is like isAmong for a directory and for each repository above it.
func (r *Rules) isCheckedOut(dir, git string) bool {
	for at := dir; paths.Within(r.dir, at); at = filepath.Dir(at) {
		if (at == dir || on(at)(GitDir)) && isAmong(at, git) {
			return true
		}
	}
	return false
}

// mayBeWorkTree reports whether git may check files out in a directory: it lies in the workspace, and no file that is
// checked out there is one of git's own.
func (r *Rules) mayBeWorkTree(dir, git string) bool {
	if !paths.Within(r.dir, dir) {
		return false
	}
	if isAmong(dir, git) {
		return false
	}
	for at := dir; paths.Within(r.dir, at); at = filepath.Dir(at) {
		if isGitDir(at, on(at)) {
			return false
		}
	}
	return true
}

// isDir reports whether a path is a directory itself.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func unless(text []byte, harmless bool) []string {
	if harmless {
		return nil
	}
	return []string{string(text)}
}
