// Package ignore decides by the rules of .gitignore files which files are ignored.
//
// It must not read files, and must not know of tools or search programs.
package ignore

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// RuleList is the list of rules in one ignore file. The zero value has no rules.
type RuleList struct {
	rules []ignoreRule
}

// ignoreRule is one rule of an ignore file.
type ignoreRule struct {
	glob     string // matched against the last element of a name, unless anchored
	anchored bool   // glob is matched against the name relative to the list's directory
	plain    bool   // glob has no special characters
	negated  bool
	dirOnly  bool
}

// ParseRules parses the text of an ignore file. Invalid lines are skipped.
func ParseRules(text string) RuleList {
	var l RuleList
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			l.rules = append(l.rules, r)
		}
	}
	return l
}

func parseRule(line string) (ignoreRule, bool) {
	line = trimTrailingSpaces(line)
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var r ignoreRule
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, strings.TrimSuffix(line, "/")
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return ignoreRule{}, false
	}
	// Braces mean themselves here, and something else to the matcher.
	line = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `\\`, `\\`, "{", `\{`, "}", `\}`).Replace(line)
	r.anchored, r.plain = anchored, !strings.ContainsAny(line, `*?[\`)
	if strings.HasSuffix(line, "/**") {
		line += "/*" // everything in the directory, and not the directory
	}
	r.glob = line
	return r, doublestar.ValidatePattern(line)
}

// trimTrailingSpaces removes trailing spaces, except a space after a backslash.
func trimTrailingSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// lastMatch returns the decision of the last rule that matches. decided is false if none matches.
func (l RuleList) lastMatch(relative, base string, dir bool) (ignored, decided bool) {
	for i := len(l.rules) - 1; i >= 0; i-- {
		r := l.rules[i]
		if r.dirOnly && !dir {
			continue
		}
		name := base
		if r.anchored {
			name = relative
		}
		if (r.plain && r.glob == name) || (!r.plain && doublestar.MatchUnvalidated(r.glob, name)) {
			return !r.negated, true
		}
	}
	return false, false
}

// RuleChain is the chain of rules that apply in a directory: its own, then those of the directories above it.
type RuleChain struct {
	dir   string     // absolute
	lists []RuleList // the strongest first
	above *RuleChain
}

// Extend returns the chain for a directory below, with additional lists, the strongest first. c may be nil.
func (c *RuleChain) Extend(dir string, lists ...RuleList) *RuleChain {
	lists = slices.DeleteFunc(slices.Clone(lists), func(l RuleList) bool { return len(l.rules) == 0 })
	if len(lists) == 0 {
		return c
	}
	return &RuleChain{dir: dir, lists: lists, above: c}
}

// Decide reports whether a file or directory is ignored, and whether a rule decides so. in is the absolute path of
// its parent directory, base its name. The caller must not descend into ignored directories.
func (c *RuleChain) Decide(in, base string, dir bool) (ignored, decided bool) {
	for ; c != nil; c = c.above {
		relative := base
		if in != c.dir {
			below := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(in),
				strings.TrimSuffix(filepath.ToSlash(c.dir), "/")), "/")
			relative = below + "/" + base
		}
		for _, l := range c.lists {
			if ignored, decided := l.lastMatch(relative, base, dir); decided {
				return ignored, true
			}
		}
	}
	return false, false
}
