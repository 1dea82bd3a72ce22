package guard

import (
	"path/filepath"
	"strings"
)

// Dialect is the language of a command's text.
type Dialect string

// The dialects.
const (
	Bash  Dialect = ""      // bash --noprofile --norc -c
	POSIX Dialect = "posix" // sh -c
)

// Command is a command line that is to be run.
type Command struct {
	Text    string
	Dir     string            // where it starts; the workspace if empty
	Env     map[string]string // its environment, as far as it is known
	Dialect Dialect           // the shell that will run it
}

const (
	reasonDangerous = "Command blocked by safety guard (dangerous pattern detected)"
	reasonWorkdir   = "Command blocked by safety guard (path outside working dir)"
)

// Command decides whether a command may be run.
func (g *Guard) Command(c Command) Decision {
	if g.policy.Exec.DenyPatterns {
		for _, re := range seedPatterns {
			if re.MatchString(c.Text) {
				return Decision{Verdict: Deny, Rule: "exec.seed", Reason: reasonDangerous}
			}
		}
	}
	if !g.policy.Restrict {
		return Decision{Verdict: Allow}
	}
	if seedTraversal.MatchString(c.Text) {
		return Decision{Verdict: Deny, Rule: ruleOutside, Reason: reasonWorkdir}
	}
	for _, at := range seedPath.FindAllStringIndex(c.Text, -1) {
		path := filepath.Clean(c.Text[at[0]:at[1]])
		inWord := at[0] > 0 && !strings.ContainsRune(" \t\n\"'=<>|&;(", rune(c.Text[at[0]-1]))
		if inWord || safeDevices[path] || withinAny(g.workspaces, path) || g.opened(Read, path) {
			continue
		}
		return Decision{Verdict: Deny, Rule: ruleOutside, Reason: reasonWorkdir, Hint: opener(Read, path)}
	}
	return Decision{Verdict: Allow}
}
