// Package protect finds the protected files of a workspace: those on which the user's git, shell, editors and CI act
// without asking. It also tells whether a change of such a file is harmful. It enforces nothing, and must not know of
// tools, commands or configuration.
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

// PathLists lists protected paths with slashes. An entry below .git is relative to each git directory. Others are
// relative to the top of the workspace and of each repository in it. `*` matches any part of a name. An entry includes
// everything below it.
type PathLists struct {
	Deny []string `json:"deny"` // agents must not change it
	Ask  []string `json:"ask"`  // agents may change it with a person's approval
}

// GitDir is the name of a repository's git directory. As an entry, it stands for the files in git directories, except
// known data files and files of other entries.
const GitDir = ".git"

// patterns is the key of the entries whose first name is a pattern.
const patterns = "*"

// hooks is the entry for git hooks. It protects files in the directory, not the directory itself.
const hooks = ".git/hooks"

//go:embed entries.json
var defaults []byte

// Defaults returns the built-in entries.
var Defaults = sync.OnceValue(func() (e PathLists) {
	if err := json.Unmarshal(defaults, &e); err != nil {
		panic(err) // a test reads them
	}
	return e
})

// WithOperatorLists returns the entries with an operator's changes: deny and ask add entries, allow removes entries.
func (e PathLists) WithOperatorLists(deny, ask, allow []string) (PathLists, error) {
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
	return PathLists{
		Deny: slices.Concat(without(e.Deny, deny, ask, allow), deny),
		Ask:  slices.Concat(without(e.Ask, deny, ask, allow), without(ask, deny)),
	}, nil
}

// Rules are the compiled protection entries of one workspace. They are immutable and safe for concurrent use.
type Rules struct {
	dir     string                    // the workspace, absolute and resolved
	outside func(path string) bool    // reports whether git directories at a path outside the workspace are protected
	entries map[string][]protectEntry // by their first name, denied ones first
	git     []protectEntry            // entries below .git, relative to it
	other   *protectEntry             // the entry GitDir
	dirs    sync.Map                  // cached kinds of directories, by path
	repos   sync.Map                  // known repositories and git directories, by path
	scanned sync.Once                 // of those near the top of the workspace
	configs sync.Map                  // cached values of core.hooksPath, by the path of the configuration
}

type protectEntry struct {
	text  string
	parts []string // in lower case
	ask   bool

	builtin bool
}

// CompileRules compiles the entries of a workspace. outside, if not nil, reports whether git directories at a path
// outside the workspace are protected. The error names a wrong entry.
func CompileRules(dir string, e PathLists, outside func(path string) bool) (*Rules, error) {
	r := &Rules{dir: dir, outside: outside, entries: map[string][]protectEntry{}}
	known := Defaults()
	for i, text := range slices.Concat(e.Deny, e.Ask) {
		if err := ValidatePattern(text); err != nil {
			return nil, err
		}
		one := protectEntry{text: text, parts: strings.Split(strings.ToLower(text), "/"), ask: i >= len(e.Deny),
			builtin: slices.Contains(known.Deny, text) || slices.Contains(known.Ask, text)}
		switch {
		case text == GitDir:
			r.other = &one
		case one.parts[0] == GitDir:
			one.parts = one.parts[1:]
			r.git = append(r.git, one)
		default:
			first := one.parts[0]
			if strings.ContainsAny(first, `*?[\`) {
				first = patterns
			}
			r.entries[first] = append(r.entries[first], one)
		}
	}
	return r, nil
}

// ValidatePattern returns an error if a text is not a valid entry.
func ValidatePattern(text string) error {
	switch first, _, _ := strings.Cut(text, "/"); {
	case text == "" || text != path.Clean(text) || path.IsAbs(text) || first == "." || first == "..":
		return fmt.Errorf("%q is no path below a workspace, such as .git/hooks", text)
	case strings.Trim(first, "*.") == "":
		return fmt.Errorf("%q would protect every name; begin it with a part of a name", text)
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a pattern: %w", text, err)
	}
	return nil
}

// ProtectedPath is a path that an entry protects.
type ProtectedPath struct {
	Entry       string
	Ask         bool
	ContentRule string // rule for the content of the file; empty if the content does not matter
	Top         string // directory to which the entry is relative: workspace, repository or git directory
	Path        string // path of the entry: the given path or a directory above it
}

// IsInGitDir reports whether the path is in a git directory.
func (h ProtectedPath) IsInGitDir() bool {
	return h.Entry == GitDir || strings.HasPrefix(h.Entry, GitDir+"/")
}

// Remedy returns the way in which an operator can change the path. It never proposes to unprotect git's own files.
func (h ProtectedPath) Remedy() string {
	if h.IsInGitDir() {
		return "change it yourself, without the agent"
	}
	return fmt.Sprintf("add %q to workspace.protect.allow", h.Entry)
}

// isStricterThan reports whether this entry takes precedence over another one.
func (h ProtectedPath) isStricterThan(than ProtectedPath) bool {
	rank := func(h ProtectedPath) int {
		switch {
		case h.ContentRule != "":
			return 0
		case h.Ask:
			return 1
		}
		return 2
	}
	return rank(h) > rank(than)
}
