// Package protect lists the entry points in a workspace that the user's own git, shell, editors and CI act on without
// being asked, and judges changes of them. It enforces nothing, and must not know of tools, commands or configuration.
package protect

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// Entries are paths with slashes. An entry below .git is relative to each git directory, the others to the top of the
// workspace and of each repository in it. A `*` matches any part of a name. An entry includes everything below it.
type Entries struct {
	Deny []string `json:"deny"` // never changed for the agent
	Ask  []string `json:"ask"`  // changed if a person agrees
}

// GitDir is the name of a repository's git directory, and the entry for all files in git directories that no other
// entry names and that are not known to be data.
const GitDir = ".git"

// hooks is the entry for hooks. Only its files act, not the directory.
const hooks = ".git/hooks"

//go:embed entries.json
var defaults []byte

// Defaults returns the built-in entries.
var Defaults = sync.OnceValue(func() (e Entries) {
	if err := json.Unmarshal(defaults, &e); err != nil {
		panic(err) // a test reads them
	}
	return e
})

// With returns the entries changed by an operator's lists. Allow removes entries.
func (e Entries) With(deny, ask, allow []string) (Entries, error) {
	known := slices.Concat(e.Deny, e.Ask)
	for _, text := range allow {
		if !slices.Contains(known, text) {
			return e, fmt.Errorf("%q is not protected%s", text, suggest.DidYouMean(text, known))
		}
	}
	without := func(list []string, others ...[]string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(text string) bool {
			return slices.Contains(slices.Concat(others...), text)
		})
	}
	return Entries{
		Deny: slices.Concat(without(e.Deny, deny, ask, allow), deny),
		Ask:  slices.Concat(without(e.Ask, deny, ask, allow), without(ask, deny)),
	}, nil
}

// Rules are the compiled entries of one workspace. They never change, and can be used concurrently.
type Rules struct {
	dir     string                 // the workspace, absolute and resolved
	outside func(path string) bool // reports whether git directories at a path outside the workspace count
	entries map[string][]entry     // by their first name, those to deny first
	git     []entry                // those below .git, relative to it
	other   *entry                 // GitDir
	dirs    sync.Map               // what directories were, by their path
}

type entry struct {
	text  string
	parts []string // in lower case
	ask   bool

	builtin bool
}

// New compiles the entries of a workspace. Outside, if not nil, reports whether git directories at a path outside the
// workspace count. The error names a wrong entry.
func New(dir string, e Entries, outside func(path string) bool) (*Rules, error) {
	r := &Rules{dir: dir, outside: outside, entries: map[string][]entry{}}
	known := Defaults()
	for i, text := range slices.Concat(e.Deny, e.Ask) {
		if err := Check(text); err != nil {
			return nil, err
		}
		one := entry{text: text, parts: strings.Split(strings.ToLower(text), "/"), ask: i >= len(e.Deny),
			builtin: slices.Contains(known.Deny, text) || slices.Contains(known.Ask, text)}
		switch {
		case text == GitDir:
			r.other = &one
		case one.parts[0] == GitDir:
			one.parts = one.parts[1:]
			r.git = append(r.git, one)
		default:
			r.entries[one.parts[0]] = append(r.entries[one.parts[0]], one)
		}
	}
	return r, nil
}

// Check reports why a text is no entry.
func Check(text string) error {
	switch first, _, _ := strings.Cut(text, "/"); {
	case text == "" || text != path.Clean(text) || path.IsAbs(text) || first == "." || first == "..":
		return fmt.Errorf("%q is no path below a workspace, such as .git/hooks", text)
	case strings.ContainsAny(first, `*?[\`):
		return fmt.Errorf("%q begins with a pattern; the first name has to be a plain one", text)
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a pattern: %w", text, err)
	}
	return nil
}

// Hit is a protected path.
type Hit struct {
	Entry string
	Ask   bool
	Judge string // the rule for the content of the file; empty where the content does not matter
	Top   string // the directory that the entry is relative to: workspace, repository or git directory
	Path  string // the path of the entry there: the path that was asked about or a directory above it
}

// Git reports whether the path lies in a git directory.
func (h Hit) Git() bool { return h.Entry == GitDir || strings.HasPrefix(h.Entry, GitDir+"/") }

// Remedy tells an operator how agents could change the path. Nobody should allow all of git's own files for that.
func (h Hit) Remedy() string {
	if h.Git() {
		return "change it yourself, without the agent"
	}
	return fmt.Sprintf("add %q to workspace.protect.allow", h.Entry)
}

// stricter reports whether a hit decides before another one.
func (h Hit) stricter(than Hit) bool {
	rank := func(h Hit) int {
		switch {
		case h.Judge != "":
			return 0
		case h.Ask:
			return 1
		}
		return 2
	}
	return rank(h) > rank(than)
}
