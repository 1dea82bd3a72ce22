// Package protect says which paths in a workspace are closed to the agent that works there: files that run, or are
// believed, when a person or a tool of theirs only enters the directory, opens it or commits in it. It finds those that
// exist. It decides by names, holds nothing closed itself, and must not know of tools, commands or configuration.
package protect

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// Entries are paths relative to the top of a workspace and of each repository in it, with slashes. A `*` stands for any
// part of a name. An entry stands for all that is below it too, but for [GitDir], which stands for itself.
type Entries struct {
	Deny []string `json:"deny"` // nobody changes these for the agent
	Ask  []string `json:"ask"`  // a person is asked
}

// GitDir is the name by which git knows a repository. Most of what is in it is git's to change; that it is a directory,
// and which one, is not.
const GitDir = ".git"

//go:embed entries.json
var defaults []byte

// Defaults returns the entries that hold unless an operator says otherwise.
func Defaults() Entries {
	var e Entries
	if err := json.Unmarshal(defaults, &e); err != nil {
		panic(err) // a test reads them
	}
	return e
}

// With returns the entries with an operator's: what is to be denied or asked about beside them, or in another way than
// they say, and what is not to be protected.
func (e Entries) With(deny, ask, allow []string) (Entries, error) {
	known := slices.Concat(e.Deny, e.Ask)
	for _, text := range allow {
		if !slices.Contains(known, text) {
			return e, fmt.Errorf("%q is not protected%s", text, nearest.Suggest(text, known))
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

// Rules are the entries that hold in one workspace. They never change.
type Rules struct {
	dir     string // the workspace, absolute
	entries map[string][]entry
}

type entry struct {
	text  string
	parts []string // in lower case, as some file systems make no difference
	ask   bool
}

// New compiles the entries of a workspace. The error names the entry that is wrong.
func New(dir string, e Entries) (*Rules, error) {
	r := &Rules{dir: dir, entries: map[string][]entry{}}
	for i, text := range slices.Concat(e.Deny, e.Ask) {
		if err := Check(text); err != nil {
			return nil, err
		}
		parts := strings.Split(strings.ToLower(text), "/")
		r.entries[parts[0]] = append(r.entries[parts[0]], entry{text: text, parts: parts, ask: i >= len(e.Deny)})
	}
	return r, nil
}

// Check reports what is wrong with an entry.
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

// Hit is the entry that a path is protected by.
type Hit struct {
	Entry string
	Ask   bool
	Top   string // the directory that the entry is relative to: the workspace, or a repository in it
	Path  string // what the entry stands for there: the path itself, or a directory above it
}

// Git reports whether what is protected is git's own, in its directory.
func (h Hit) Git() bool { return h.Entry == GitDir || strings.HasPrefix(h.Entry, GitDir+"/") }

// Match finds the entry that protects an absolute path whose symbolic links are resolved. Deny goes before ask.
func (r *Rules) Match(name string) (hit Hit, ok bool) {
	r.each(name, func(e entry, top string, rest []string) {
		if e.text == GitDir && len(rest) > 1 || !match(e.parts, rest) {
			return
		}
		if !ok || hit.Ask && !e.ask {
			hit, ok = Hit{e.text, e.ask, top, parent(name, len(rest)-len(e.parts))}, true
		}
	})
	return hit, ok
}

// Name is a path as the workspace has it.
func (r *Rules) Name(path string) string {
	if inside, ok := paths.Below(r.dir, path); ok {
		return filepath.ToSlash(inside)
	}
	return path
}

// Above reports whether a path is a directory on the way to what an entry protects, such as .github: who moves it moves
// what is protected.
func (r *Rules) Above(name string) (above bool) {
	r.each(name, func(e entry, _ string, rest []string) {
		above = above || len(rest) < len(e.parts) && match(e.parts[:len(rest)], rest)
	})
	return above
}

// each gives f the entries that begin with a name on the way to a path, with the directory that they are relative to
// and the path from there on.
func (r *Rules) each(name string, f func(e entry, top string, rest []string)) {
	if r == nil {
		return
	}
	inside, ok := paths.Below(r.dir, name)
	if !ok || inside == "." {
		return
	}
	parts := strings.Split(strings.ToLower(filepath.ToSlash(inside)), "/")
	end := len(name) - len(inside) // where the part begins
	for i, part := range parts {
		if entries := r.entries[part]; len(entries) > 0 {
			if top := strings.TrimRight(name[:end], "/\\"); i == 0 || part == GitDir || repository(top) {
				for _, e := range entries {
					f(e, cmp.Or(top, r.dir), parts[i:])
				}
			}
		}
		end += len(part) + 1
	}
}

// parent is the directory so many steps above a path.
func parent(path string, steps int) string {
	for range steps {
		path = filepath.Dir(path)
	}
	return path
}

// repository reports whether a directory is the top of a repository.
func repository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, GitDir))
	return err == nil
}

// match reports whether the first names of a path are an entry's.
func match(entry, names []string) bool {
	if len(names) < len(entry) {
		return false
	}
	for i, pattern := range entry {
		if ok, _ := path.Match(pattern, names[i]); !ok {
			return false
		}
	}
	return true
}
