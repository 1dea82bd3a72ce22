package guard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// stays are the programs that start a command here: on this machine, in their own directory, with its words as they
// are.
var stays = map[string]bool{
	"bash": true, "command": true, "dash": true, "env": true, "ionice": true, "nice": true, "nohup": true, "setsid": true,
	"sh": true, "stdbuf": true, "time": true, "timeout": true,
}

// soften notes that a rule was lifted because what it is about can be undone.
func (a *analysis) soften(rule string) {
	if !slices.Contains(a.softened, rule) {
		a.softened = append(a.softened, rule)
	}
}

// irretrievable says why undo may not bring back what a simple command deletes, or "".
func (a *analysis) irretrievable(c *shell.Call, name string) string {
	switch {
	case !a.kept:
		return "nothing is kept of what this command destroys"
	case a.away || a.guessing || !a.inside(c, name):
		return "its words don't show that all it deletes lies in the workspace"
	}
	return ""
}

// inside reports whether a simple command works in the workspace and all its words that may be paths lead into it, so
// that what it deletes lies there, whatever each word is for.
func (a *analysis) inside(c *shell.Call, name string) bool {
	if c.Dir == "" || name == "git" && moved(c) || !a.leadsInside(c.Dir, List, ".", false) {
		return false
	}
	for _, u := range programs.FindUses(name, c.Argv[1:]) {
		access := List
		switch u.Kind {
		case programs.Command: // decided on by itself
			continue
		case programs.Code, programs.Script, programs.Input:
			return false
		case programs.Data:
			if strings.ContainsAny(u.Text, ":=") { // host:path, or a setting
				return false
			}
		case programs.Write:
			if isGlob(u.Text) { // a link may match, and what it leads to is written
				return false
			}
		case programs.List:
			// What is found is deleted, a starting point by its name too.
			if base := filepath.Base(u.Text); base != "." && base != ".." && !a.leadsInside(c.Dir, Delete, u.Text, u.Glob) {
				return false
			}
		case programs.Delete:
			access = Delete
		}
		if !a.leadsInside(c.Dir, access, u.Text, u.Glob) {
			return false
		}
	}
	return true
}

// leadsInside reports whether a word names a path in the workspace, for certain. Patterns do by their last part alone:
// above it, a link may match.
func (a *analysis) leadsInside(dir string, access Access, text string, glob bool) bool {
	if text == "" || shell.HasUnknown(text) {
		return false
	}
	if glob {
		text = parents(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		abs = dir + string(filepath.Separator) + text
	}
	if above, _ := filepath.Split(abs); isGlob(above) {
		return false
	}
	workspace := Guard{policy: Policy{Restrict: true}, workspaces: a.guard.workspaces}
	return workspace.decidePath(&known{Resolver: a.known.Resolver}, access, text, abs).Verdict == Allow
}

// moved reports whether a variable may have git work in another directory than its own.
func moved(c *shell.Call) bool {
	return slices.ContainsFunc([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT"}, func(name string) bool {
		value, _ := c.LookupVar(name)
		return value+c.Env[name] != ""
	})
}
