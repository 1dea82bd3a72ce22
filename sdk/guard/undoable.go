package guard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// localStarters are programs that start a command on this machine, in the same directory and with unchanged words.
var localStarters = map[string]bool{
	"bash": true, "command": true, "dash": true, "env": true, "ionice": true, "nice": true, "nohup": true, "setsid": true,
	"sh": true, "stdbuf": true, "time": true, "timeout": true,
}

// recordRuleLiftedByUndo records a rule that was lifted because undo covers its effect.
func (a *commandAnalysis) recordRuleLiftedByUndo(rule string) {
	if !slices.Contains(a.softened, rule) {
		a.softened = append(a.softened, rule)
	}
}

// whyNotUndoable returns the reason that undo may not restore a command's deletions, or "".
func (a *commandAnalysis) whyNotUndoable(c *shell.SimpleCommand, name string) string {
	switch {
	case !a.undoable:
		return "undo does not cover this command"
	case a.elsewhere || a.guessing || !a.staysInWorkspace(c, name):
		return "its words don't show that all it deletes lies in the workspace"
	}
	return ""
}

// staysInWorkspace reports whether a simple command works in the workspace and all its possible paths are in the
// workspace.
func (a *commandAnalysis) staysInWorkspace(c *shell.SimpleCommand, name string) bool {
	if c.Dir == "" || name == "git" && setsGitDir(c) || !a.isWorkspacePath(c.Dir, List, ".", false) {
		return false
	}
	for _, u := range programs.FindArgumentUses(name, c.Argv[1:]) {
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
			if mayBeGlob(u.Text) { // a link may match, and what it leads to is written
				return false
			}
		case programs.List:
			// What is found is deleted, a starting point by its name too.
			if base := filepath.Base(u.Text); base != "." && base != ".." && !a.isWorkspacePath(c.Dir, Delete, u.Text, u.Glob) {
				return false
			}
		case programs.Delete:
			access = Delete
		}
		if !a.isWorkspacePath(c.Dir, access, u.Text, u.Glob) {
			return false
		}
	}
	return true
}

// isWorkspacePath reports whether a word certainly names a path in the workspace. Only its last component may be a
// pattern, since a symlink may match.
func (a *commandAnalysis) isWorkspacePath(dir string, access AccessKind, text string, glob bool) bool {
	if text == "" || shell.HasUnknown(text) {
		return false
	}
	if glob {
		text = expandDotDotGlobs(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		abs = dir + string(filepath.Separator) + text
	}
	if above, _ := filepath.Split(abs); mayBeGlob(above) {
		return false
	}
	workspace := Guard{policy: Policy{Restrict: true}, workspaces: a.guard.workspaces}
	return workspace.decideAbsolutePath(&commandPathCache{PathResolver: a.known.PathResolver}, access, text, abs).Verdict == Allow
}

// setsGitDir reports whether a variable may make git work in another directory.
func setsGitDir(c *shell.SimpleCommand) bool {
	return slices.ContainsFunc([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT"}, func(name string) bool {
		value, _ := c.LookupVar(name)
		return value+c.Env[name] != ""
	})
}
