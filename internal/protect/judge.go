package protect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// applyOptions matches the options of git am that name neither files nor programs, as git quotes them.
var applyOptions = lazyregexp.New(`^(?:\s*'?(?:-[pC][0-9]+|--(?:3way|reject|ignore-space-change|ignore-whitespace|whitespace=[a-z-]+))'?)*$`)

// quotedWords matches words in the form of git rev-parse --sq-quote.
var quotedWords = lazyregexp.New(`^(?:\s*'[^'!]*'(?:\\['!]'[^'!]*')*)*\s*$`)

// IsEditedInPlace reports whether git modifies the file in place, so that only its final content is checked.
func (h ProtectedPath) IsEditedInPlace() bool {
	return slices.Contains([]string{"worktree", "number", "quoted"}, h.ContentRule)
}

// IsOperationState reports whether the file belongs to an operation such as a rebase, and git acts on it when the
// operation continues. Git and editors may write it in place in the directory that the operation created.
func (h ProtectedPath) IsOperationState() bool {
	return slices.Contains([]string{"todo", "strategy", "options", "apply"}, h.ContentRule)
}

// FindChangedRisk returns a line that only one of two results of FindRiskyLines has, or "". The done steps of a todo list
// and the list of conflicts may go.
func (h ProtectedPath) FindChangedRisk(before, after []string) string {
	linesMayGo := h.ContentRule == "todo" || h.ContentRule == "removal"
	if i := slices.IndexFunc(after, func(line string) bool { return !slices.Contains(before, line) }); i >= 0 {
		return after[i]
	}
	if i := slices.IndexFunc(before, func(line string) bool { return !slices.Contains(after, line) }); i >= 0 && !linesMayGo {
		return before[i]
	}
	if !linesMayGo && !slices.Equal(before, after) { // the order matters
		return after[0]
	}
	return ""
}

// FindRiskyLines returns the lines of a file that git acts on, except lines known to be harmless. text is nil for a missing
// file.
func (r *Rules) FindRiskyLines(h ProtectedPath, path string, text []byte) (risky []string) {
	if text == nil {
		return nil
	}
	dir := filepath.Dir(path)
	switch h.ContentRule {
	case "config":
		return findRiskyConfigLines(text, func(setting, value string) bool {
			switch {
			case setting == "core.worktree":
				return r.mayBeWorkTree(resolveSymlinkFreePath(dir, filepath.FromSlash(value)), dir)
			case setting != "extensions.objectformat":
				return r.mayBeRemote(value, dir)
			}
			return slices.Contains([]string{"sha1", "sha256"}, value) && !hasIndex(dir)
		})
	case "index":
		return findRiskyIndexPaths(text, indexHashSize(h.Top))
	case "gitlink":
		line, ok := strings.CutPrefix(string(text), gitLinkPrefix)
		to := resolveSymlinkFreePath(dir, line)
		return riskUnlessHarmless(text, ok && r.isGitDirInWorkspace(to) && !r.anyCheckoutMayOverwrite(dir, to))
	case "commondir":
		to := resolveSymlinkFreePath(dir, string(text))
		isMain := filepath.Dir(dir) == filepath.Join(to, "worktrees") && paths.Within(r.dir, to) // also while rm deletes it
		return riskUnlessHarmless(text, isMain || r.isGitDirInWorkspace(to) && (paths.Within(to, dir) || !checkoutMayOverwrite(r.dir, to)))
	case "worktree":
		return riskUnlessHarmless(text, paths.Within(r.dir, resolvePathInLine(dir, string(text))))
	case "alternates":
		for line := range strings.SplitSeq(string(text), "\n") {
			if line != "" && line[0] != '#' && !paths.Within(r.dir, resolveSymlinkFreePath(filepath.Join(h.Top, "objects"), line)) {
				risky = append(risky, line)
			}
		}
		return risky
	case "removal":
		return []string{string(text)}
	case "strategy":
		return riskUnlessHarmless(text, isBuiltinStrategy(string(text)))
	case "quoted": // a shell script of git evaluates it
		return riskUnlessHarmless(text, quotedWords().MatchString(string(text)))
	case "number": // shell prompts evaluate it
		return riskUnlessHarmless(text, strings.Trim(string(text), "0123456789\n") == "")
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && r.isRiskyLine(h, line) {
			risky = append(risky, line)
		}
	}
	return risky
}

// isRiskyLine reports whether git may run a program or read other files because of a line.
func (r *Rules) isRiskyLine(h ProtectedPath, line string) bool {
	switch h.ContentRule {
	case "attributes":
		configured := configuredDrivers(h.Top)
		return slices.ContainsFunc(strings.Fields(line), func(word string) bool {
			key, driver, set := strings.Cut(word, "=")
			return set && slices.Contains([]string{"filter", "diff", "merge"}, key) && slices.Contains(configured, driver)
		})
	case "todo":
		command := strings.Fields(line)[0]
		return command == "x" || command == "exec"
	case "apply":
		return !applyOptions().MatchString(line)
	case "options":
		key, value, _ := strings.Cut(line, "=")
		return strings.TrimSpace(key) == "strategy" && !isBuiltinStrategy(value)
	}
	return true
}

// configuredDrivers returns the names of the filters, diff drivers and merge drivers that a repository configures.
func configuredDrivers(git string) (names []string) {
	text, _ := smallfile.Read(filepath.Join(git, "config"), maxJudged)
	for line := range strings.Lines(string(text)) {
		if m := driverLine().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

// isBuiltinStrategy reports whether a merge strategy is git's own. Any other name is a program.
func isBuiltinStrategy(text string) bool {
	known := []string{"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"}
	return slices.Contains(known, strings.TrimSpace(text))
}

// gitLinkPrefix begins the text of a .git file.
const gitLinkPrefix = "gitdir: "

// pathInLine returns the absolute path that a line of a file names, relative to a directory. It returns "" for a form that
// git may read as another path: with quotes or control characters, or with spaces at the ends.
func pathInLine(dir, line string) string {
	line = strings.TrimSuffix(line, "\n")
	if strings.TrimSpace(line) != line || strings.HasPrefix(line, `"`) || strings.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	to := filepath.FromSlash(line)
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Clean(to)
}

// resolvePathInLine is pathInLine with resolved symlinks. It returns "" on error.
func resolvePathInLine(dir, line string) string {
	to := pathInLine(dir, line)
	if to == "" {
		return ""
	}
	real, err := paths.Resolve(to)
	if err != nil {
		return ""
	}
	return real
}

// resolveSymlinkFreePath is resolvePathInLine, but returns "" for a path with symlinks, which could change later.
func resolveSymlinkFreePath(dir, line string) string {
	if real := resolvePathInLine(dir, line); real == pathInLine(dir, line) {
		return real
	}
	return ""
}

// isGitDirInWorkspace reports whether a path is a git directory in the workspace.
func (r *Rules) isGitDirInWorkspace(path string) bool {
	return paths.Within(r.dir, path) && isGitDir(path, newExistsFunc(path)) && isDir(path)
}

// checkoutMayOverwrite reports whether a checkout into the work tree dir may write files, such as hooks, into the git
// directory git. Git never writes below a name .git.
func checkoutMayOverwrite(dir, git string) bool {
	isGit := func(name string) bool { return strings.EqualFold(name, GitDir) }
	below, ok := paths.RelativeWithin(dir, git)
	return ok && !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), isGit)
}

// anyCheckoutMayOverwrite reports whether a checkout in dir, or in a repository above it, may write into a git
// directory.
func (r *Rules) anyCheckoutMayOverwrite(dir, git string) bool {
	for at := dir; paths.Within(r.dir, at); at = filepath.Dir(at) {
		if (at == dir || newExistsFunc(at)(GitDir)) && checkoutMayOverwrite(at, git) {
			return true
		}
	}
	return false
}

// mayBeWorkTree reports whether git may check files out in a directory: beside its git directory or, for a submodule, in
// the work tree of its superproject. It must not contain git's own files.
func (r *Rules) mayBeWorkTree(dir, git string) bool {
	if !paths.Within(r.dir, dir) {
		return false
	}
	if top := superproject(git); dir != filepath.Dir(git) && (top == "" || !paths.Within(top, dir)) {
		return false
	}
	if checkoutMayOverwrite(dir, git) {
		return false
	}
	for at := dir; paths.Within(r.dir, at); at = filepath.Dir(at) {
		if isGitDir(at, newExistsFunc(at)) {
			return false
		}
	}
	return true
}

// mayBeRemote reports whether a URL leads to another machine, or to a repository that agents may read. From any other
// one, the user's git fetch would copy data that agents can't read.
func (r *Rules) mayBeRemote(url, git string) bool {
	local, isFile := strings.CutPrefix(url, "file://")
	if isFile && (!strings.HasPrefix(local, "/") || strings.Contains(local, "%")) { // with a host, or encoded
		return false
	}
	scheme, _, hasScheme := strings.Cut(url, "://")
	host, _, hasColon := strings.Cut(url, ":")
	switch {
	case isFile:
	case hasScheme: // for others git starts git-remote-SCHEME
		return slices.Contains([]string{"http", "https", "ssh", "git", "git+ssh", "ssh+git", "ftp", "ftps"}, scheme)
	case hasColon && host != "" && !strings.Contains(host, "/"):
		return true // the form of scp
	}
	if !filepath.IsAbs(local) { // from the top of a work tree, of which there may be more later
		return !slices.Contains(strings.Split(local, "/"), "..") && !strings.HasPrefix(local, "~") &&
			!slices.ContainsFunc(workTreesOf(git), func(top string) bool { return !paths.Within(r.dir, resolveSymlinkFreePath(top, local)) })
	}
	real := resolvePathInLine("", local)
	if real == "" {
		return false
	}
	if paths.Within(r.dir, real) {
		return real == pathInLine("", local)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(real) // this process sees little more than commands do
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// isDir reports whether a path is a directory and not a symlink.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func riskUnlessHarmless(text []byte, harmless bool) []string {
	if harmless {
		return nil
	}
	return []string{string(text)}
}
