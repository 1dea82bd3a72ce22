package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/plugins/grep/internal/ignore"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// tree looks through directories for files, leaving out what is to be left out. No search program is trusted with that:
// none would count what it leaves out, and a list of what to ignore that is a FIFO would stop it.
type tree struct {
	w         *workspace.Workspace
	path      string // where to begin
	recursive bool
	hidden    bool
	ignore    bool

	found   func(name string, e fs.DirEntry) // called from several goroutines
	ignored func(name string, e fs.DirEntry) // the same, for what .gitignore names; may be nil
	git     func(name string)                // the same, for version control's own directories

	abs, top string // path and the workspace, absolute
	mu       sync.Mutex
	chains   map[string]rules // by directory, for those that are still to be visited
	pending  int              // directories that are still to be visited; in the end, those that could not be
	oddities []string
}

// rules are what is left alone in a directory. Those made for search programs go before version control's.
type rules struct{ search, git *ignore.Chain }

func (r rules) ignored(in, base string, dir bool) bool {
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

// gitDir is version control's own directory, which is never searched.
const gitDir = ".git"

func (t *tree) walk(ctx context.Context) error {
	t.chains = map[string]rules{}
	var err error
	if t.abs, err = t.w.AbsPath(t.path); err != nil {
		return err
	}
	if t.top, err = t.w.AbsPath("."); err != nil {
		return err
	}
	if t.ignore {
		t.chains["."] = t.above()
	}
	t.pending = 1
	return t.w.ScanDirs(ctx, t.path, t.visit)
}

func (t *tree) visit(dir string, entries []fs.DirEntry) (into []string, err error) {
	here, in := t.rules(dir, entries), filepath.Join(t.abs, dir)
	for _, e := range entries {
		name := e.Name()
		if dir != "." {
			name = dir + "/" + name
		}
		isDir := e.IsDir()
		switch {
		case isDir && e.Name() == gitDir:
			if t.git != nil {
				t.git(name)
			}
			continue
		case !t.hidden && strings.HasPrefix(e.Name(), "."):
			continue
		case here.ignored(in, e.Name(), isDir):
			if t.ignored != nil {
				t.ignored(name, e)
			}
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

// rules returns the rules that hold in a directory: those of the directory above and its own.
func (t *tree) rules(dir string, entries []fs.DirEntry) rules {
	if !t.ignore {
		return rules{}
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
		r.git = t.repository(here) // another repository: the rules above end here
	}
	if has[gitRules] {
		r.git = r.git.Below(here, t.list(filepath.Join(here, gitRules)))
	}
	if has[searchRules] {
		r.search = r.search.Below(here, t.list(filepath.Join(here, searchRules)))
	}
	return r
}

// above returns the rules of the directories above the one where the search begins, as far as they may be read; those
// of version control up to the top of the repository.
func (t *tree) above() rules {
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
	var r rules
	for _, dir := range slices.Backward(dirs) {
		r.search = r.search.Below(dir, t.list(filepath.Join(dir, searchRules)))
	}
	if top == 0 {
		r.git = t.repository(t.abs)
		return r
	}
	r.git = t.repository(dirs[top-1])
	for _, dir := range slices.Backward(dirs[:top]) {
		r.git = r.git.Below(dir, t.list(filepath.Join(dir, gitRules)))
	}
	return r
}

// repository returns the weakest rules: those of a repository's own list, and the user's.
func (t *tree) repository(dir string) *ignore.Chain {
	lists := []ignore.List{t.list(filepath.Join(dir, gitDir, "info", "exclude"))}
	if global := t.global(); global != "" {
		lists = append(lists, t.list(global))
	}
	var none *ignore.Chain
	return none.Below(dir, lists...)
}

// excludesFile finds the setting of a user's own list in git's configuration.
var excludesFile = lazyregexp.New(`(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$`)

// global is where the user's own list is, whether or not the policy opens it.
func (t *tree) global() string {
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
		if m := excludesFile().FindSubmatch(text); m != nil {
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

// walk calls found with the name of each file that a query is about, and counts what it leaves alone. left, which may
// be nil, is told of all that is left alone. Both are called from several goroutines.
func (q *query) walk(ctx context.Context, w *workspace.Workspace, path string, t *tally, found func(name string),
	left func(name string, dir bool)) error {
	var count atomic.Int64
	tree := tree{
		w: w, path: path, recursive: q.recursive, hidden: q.hidden, ignore: q.ignore,
		found: func(name string, e fs.DirEntry) {
			if e.Type().IsRegular() && q.wants(name) {
				found(name)
			}
		},
		ignored: func(name string, e fs.DirEntry) {
			if e.IsDir() || (e.Type().IsRegular() && q.wants(name)) {
				count.Add(1)
			}
			if left != nil {
				left(name, e.IsDir())
			}
		},
		git: func(name string) {
			if left != nil {
				left(name, true)
			}
		},
	}
	err := tree.walk(ctx)
	t.ignored, t.notes = int(count.Load()), tree.notes()
	if err == nil {
		t.closed = tree.pending
	}
	return err
}

// largestList is how long a list of what to ignore may be, in bytes. A longer one is none of a person's.
const largestList = 1 << 20

// odd returns what is wrong with a list of what to ignore that nobody should be led to: one that is no file, such as a
// FIFO or a link to a device, or that is huge. It returns "" for one that is as it should be, or that is not there.
func (t *tree) odd(path string) string {
	info, err := t.w.Stat(path)
	switch {
	case errors.Is(err, workspace.Refused):
		if _, inside := strings.CutPrefix(path, t.top+string(filepath.Separator)); inside {
			return hiddentext.QuoteName(path) + " leads out of the workspace and was not honoured"
		}
		return "" // above the workspace, which is none of the agent's business
	case err != nil || info.IsDir():
		return ""
	case !info.Mode().IsRegular():
		return hiddentext.QuoteName(path) + " is not a regular file and was not honoured"
	case info.Size() > largestList:
		return fmt.Sprintf("%s is longer than %d bytes and was not honoured", hiddentext.QuoteName(path), largestList)
	}
	return ""
}

// mostNotes is how many odd lists are named.
const mostNotes = 5

// list reads a list of rules; one that is not there, is odd, or may not be read, has none.
func (t *tree) list(name string) ignore.List {
	if why := t.odd(name); why != "" {
		t.mu.Lock()
		t.oddities = append(t.oddities, why)
		t.mu.Unlock()
		return ignore.List{}
	}
	text, err := t.w.ReadFile(name)
	if err != nil || len(text) > largestList {
		return ignore.List{}
	}
	return ignore.Parse(string(text))
}

// notes says which lists were odd, the first few of them in order.
func (t *tree) notes() []string {
	all := slices.Compact(slices.Sorted(slices.Values(t.oddities)))
	if more := len(all) - mostNotes; more > 0 {
		all = append(all[:mostNotes], fmt.Sprintf("and so were %d more", more))
	}
	return all
}
