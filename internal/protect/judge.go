package protect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/paths"
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
		to, ok := strings.CutPrefix(string(text), "gitdir:")
		return r.unlessGitDir(text, ok, target(dir, to))
	case "commondir":
		return r.unlessGitDir(text, true, target(dir, string(text)))
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
	text, _ := os.ReadFile(filepath.Join(git, "config"))
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

func (r *Rules) unlessGitDir(text []byte, ok bool, to string) []string {
	return unless(text, ok && paths.Within(r.dir, to) && isGitDir(to, on(to)) && isDir(to))
}

// mayBeWorkTree reports whether git may check files out in a directory: it lies in the workspace, and no file that is
// checked out there is one of git's own.
func (r *Rules) mayBeWorkTree(dir, git string) bool {
	if !paths.Within(r.dir, dir) {
		return false
	}
	isGit := func(name string) bool { return strings.EqualFold(name, GitDir) }
	if below, ok := paths.Below(dir, git); ok && !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), isGit) {
		return false // the git directory is among the files
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
