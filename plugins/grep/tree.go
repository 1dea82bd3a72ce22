package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/plugins/grep/internal/ignore"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// treeWalker lists files in directories and applies ignore rules. Search programs can't do that: they don't count
// skipped files, and a FIFO as ignore file would block them.
type treeWalker struct {
	w         *workspace.Workspace
	path      string // where to begin
	recursive bool
	hidden    bool
	ignore    bool

	found   func(name string, e fs.DirEntry) // called from several goroutines
	ignored func(name string, e fs.DirEntry) // called likewise for ignored entries

	abs, top string // path and the workspace, absolute
	mu       sync.Mutex
	chains   map[string]ignoreRules // by directory, for those that are still to be visited
	pending  int                    // directories that are still to be visited; in the end, those that could not be
	oddities []string
}

// ignoreRules are the ignore rules that apply in a directory. Rules for search programs override git's.
type ignoreRules struct{ search, git *ignore.RuleChain }

func (r ignoreRules) isIgnored(in, base string, dir bool) bool {
	if ignored, decided := r.search.Decide(in, base, dir); decided {
		return ignored
	}
	ignored, _ := r.git.Decide(in, base, dir)
	return ignored
}

// The files with rules.
const (
	gitRules    = ".gitignore"
	searchRules = ".rgignore"
)

// gitDir is git's own directory, which is never searched.
const gitDir = ".git"

func (t *treeWalker) walkTree(ctx context.Context) error {
	t.chains = map[string]ignoreRules{}
	var err error
	if t.abs, err = t.w.AbsPath(t.path); err != nil {
		return err
	}
	if t.top, err = t.w.AbsPath("."); err != nil {
		return err
	}
	if t.ignore {
		t.chains["."] = t.parentRules()
	}
	t.pending = 1
	return t.w.ScanDirs(ctx, t.path, t.visitDir)
}

func (t *treeWalker) visitDir(dir string, entries []fs.DirEntry) (into []string, err error) {
	here, in := t.directoryRules(dir, entries), filepath.Join(t.abs, dir)
	for _, e := range entries {
		name := e.Name()
		if dir != "." {
			name = dir + "/" + name
		}
		isDir := e.IsDir()
		switch {
		case isDir && e.Name() == gitDir:
			continue
		case !t.hidden && strings.HasPrefix(e.Name(), "."):
			continue
		case here.isIgnored(in, e.Name(), isDir):
			t.ignored(name, e)
			continue
		}
		t.found(name, e)
		if isDir && t.recursive {
			into = append(into, e.Name())
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending += len(into) - 1
	if t.ignore {
		for _, name := range into {
			t.chains[path.Join(dir, name)] = here
		}
	}
	return into, nil
}

// directoryRules returns the rules in a directory: those of its parent and its own.
func (t *treeWalker) directoryRules(dir string, entries []fs.DirEntry) ignoreRules {
	if !t.ignore {
		return ignoreRules{}
	}
	t.mu.Lock()
	r := t.chains[dir]
	delete(t.chains, dir)
	t.mu.Unlock()
	has := map[string]bool{}
	for _, e := range entries {
		if name := e.Name(); name[0] == '.' && (name == gitDir || name == gitRules || name == searchRules) {
			has[name] = true
		}
	}
	here := filepath.Join(t.abs, dir)
	if has[gitDir] && dir != "." {
		r.git = t.repositoryRules(here) // another repository: the rules above end here
	}
	if has[gitRules] {
		r.git = r.git.Extend(here, t.readIgnoreFile(filepath.Join(here, gitRules)))
	}
	if has[searchRules] {
		r.search = r.search.Extend(here, t.readIgnoreFile(filepath.Join(here, searchRules)))
	}
	return r
}

// parentRules returns the rules of the directories above the searched one. Git's rules count only within the
// repository.
func (t *treeWalker) parentRules() ignoreRules {
	var dirs []string // from the nearest
	for at := t.abs; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		dirs = append(dirs, at)
	}
	top := 0 // how many of them are in the repository
	for at := t.abs; top < len(dirs); top++ {
		if _, err := t.w.Stat(filepath.Join(at, gitDir)); err == nil {
			break
		}
		at = dirs[top]
	}
	var r ignoreRules
	for _, dir := range slices.Backward(dirs) {
		r.search = r.search.Extend(dir, t.readIgnoreFile(filepath.Join(dir, searchRules)))
	}
	if top == 0 {
		r.git = t.repositoryRules(t.abs)
		return r
	}
	r.git = t.repositoryRules(dirs[top-1])
	for _, dir := range slices.Backward(dirs[:top]) {
		r.git = r.git.Extend(dir, t.readIgnoreFile(filepath.Join(dir, gitRules)))
	}
	return r
}

// repositoryRules returns git's rules with the lowest rank: the repository's info/exclude, and the user's ignore file.
func (t *treeWalker) repositoryRules(dir string) *ignore.RuleChain {
	lists := []ignore.RuleList{t.readIgnoreFile(filepath.Join(dir, gitDir, "info", "exclude"))}
	if global := t.userIgnorePath(); global != "" {
		lists = append(lists, t.readIgnoreFile(global))
	}
	var none *ignore.RuleChain
	return none.Extend(dir, lists...)
}

// excludesFilePattern matches core.excludesFile in git's configuration.
var excludesFilePattern = lazyregexp.New(`(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$`)

// userIgnorePath returns the path of the user's global ignore file, which may be missing.
func (t *treeWalker) userIgnorePath() string {
	home := os.Getenv("HOME")
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")} {
		text, err := t.w.ReadFile(file)
		if err != nil {
			continue
		}
		if m := excludesFilePattern().FindSubmatch(text); m != nil {
			if rest, ok := strings.CutPrefix(string(m[1]), "~/"); ok {
				return filepath.Join(home, rest)
			}
			return string(m[1])
		}
	}
	if config == "" {
		return ""
	}
	return filepath.Join(config, "git", "ignore")
}

// fileList are the files to search, relative to the searched directory.
type fileList struct {
	names   []string
	partial map[string]bool // directories that also have other files
}

// mergeWholeDirs returns the listed files, with a directory in place of its files if all of them are listed.
func (l fileList) mergeWholeDirs() []string {
	var merged []string
	whole := map[string]bool{}
	for _, name := range l.names {
		if dir := path.Dir(name); l.partial[dir] {
			merged = append(merged, name)
		} else if !whole[dir] {
			whole[dir], merged = true, append(merged, dir)
		}
	}
	return merged
}

// listFiles returns the files to search, and adds the skipped entries to the result.
func (q *grepQuery) listFiles(ctx context.Context, w *workspace.Workspace, root string, out *grepOutput) (fileList, error) {
	var mu sync.Mutex
	files := fileList{partial: map[string]bool{}}
	tree := treeWalker{
		w: w, path: root, recursive: q.recursive, hidden: q.hidden, ignore: q.ignore,
		found: func(name string, e fs.DirEntry) {
			if !e.Type().IsRegular() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if q.includesFile(name) {
				files.names = append(files.names, name)
			} else {
				files.partial[path.Dir(name)] = true
			}
		},
		ignored: func(name string, e fs.DirEntry) {
			mu.Lock()
			defer mu.Unlock()
			if e.IsDir() || (e.Type().IsRegular() && q.includesFile(name)) {
				out.Ignored++
			}
			files.partial[path.Dir(name)] = true
		},
	}
	err := tree.walkTree(ctx)
	out.Notes = tree.ignoreFileNotes()
	if err == nil {
		out.Closed = tree.pending
	}
	return files, err
}

// maxIgnoreBytes limits the size of an ignore file.
const maxIgnoreBytes = 1 << 20

// ignoreFileProblem returns the reason why an ignore file is not read, such as "not a regular file", or "".
func (t *treeWalker) ignoreFileProblem(path string) string {
	info, err := t.w.Stat(path)
	switch {
	case errors.Is(err, workspace.Refused):
		var refusal *workspace.Error
		if _, inside := strings.CutPrefix(path, t.top+string(filepath.Separator)); inside && errors.As(err, &refusal) &&
			refusal.Rule == "workspace.symlink" {
			return hiddentext.QuoteUnprintable(path) + " leads out of the workspace and was ignored"
		}
		return "" // above the workspace, which is none of the agent's business
	case err != nil || info.IsDir():
		return ""
	case !info.Mode().IsRegular():
		return hiddentext.QuoteUnprintable(path) + " is not a regular file and was ignored"
	case info.Size() > maxIgnoreBytes:
		return fmt.Sprintf("%s is longer than %d bytes and was ignored", hiddentext.QuoteUnprintable(path), maxIgnoreBytes)
	}
	return ""
}

// maxIgnoreNotes limits the notes about ignore files.
const maxIgnoreNotes = 5

// readIgnoreFile returns the rules in an ignore file; none if the file can't be read.
func (t *treeWalker) readIgnoreFile(name string) ignore.RuleList {
	if why := t.ignoreFileProblem(name); why != "" {
		t.mu.Lock()
		t.oddities = append(t.oddities, why)
		t.mu.Unlock()
		return ignore.RuleList{}
	}
	text, err := t.w.ReadFile(name)
	if err != nil || len(text) > maxIgnoreBytes {
		return ignore.RuleList{}
	}
	return ignore.ParseRules(string(text))
}

// ignoreFileNotes returns the notes about ignore files that were not read, sorted.
func (t *treeWalker) ignoreFileNotes() []string {
	all := slices.Compact(slices.Sorted(slices.Values(t.oddities)))
	if more := len(all) - maxIgnoreNotes; more > 0 {
		all = append(all[:maxIgnoreNotes], fmt.Sprintf("and so were %d more", more))
	}
	return all
}

// Every engine's results have the same order: directory by directory, names in byte order, lines in file order. The
// contents of a directory follow at the place of its name.

// compareNames compares two names in the order of results: directory by directory.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			// A slash ends a name, so it comes before all that could go on with it.
			switch {
			case a[i] == '/':
				return -1
			case b[i] == '/':
				return 1
			case a[i] < b[i]:
				return -1
			}
			return 1
		}
	}
	return len(a) - len(b)
}

// pageCursor is the position after a page of results: a file's name, and a line.
type pageCursor struct {
	name string
	line int
}

// String returns the cursor as text, with special characters escaped.
func (c pageCursor) String() string {
	return strconv.Itoa(c.line) + ":" + strings.ReplaceAll(url.PathEscape(c.name), "%2F", "/")
}

func parseCursor(s string) (pageCursor, error) {
	line, escaped, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(line)
	name, wrong := url.PathUnescape(escaped)
	if !ok || err != nil || wrong != nil || n < 0 || name == "" {
		return pageCursor{}, sdk.Errorf(sdk.InvalidArgument, "cursor %q is not one that a search has given", s).
			WithHint("pass next of the previous answer, or nothing to start at the beginning")
	}
	return pageCursor{name, n}, nil
}

// matchingFile is a file with its number of matching lines.
type matchingFile struct {
	name  string
	lines int // 0 if not known
}

// pageCollector collects the files with matches. It may be used concurrently.
type pageCollector struct {
	mu    sync.Mutex
	files []matchingFile
	total int // lines in all files, as far as known
}

func (f *pageCollector) addFile(name string, lines int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, matchingFile{name, lines})
	f.total += lines
}

// filesFrom returns the files in order, from the one that the cursor names.
func (f *pageCollector) filesFrom(from pageCursor) []matchingFile {
	slices.SortFunc(f.files, func(a, b matchingFile) int { return compareNames(a.name, b.name) })
	at, _ := slices.BinarySearchFunc(f.files, from.name, func(a matchingFile, name string) int { return compareNames(a.name, name) })
	return f.files[at:]
}
