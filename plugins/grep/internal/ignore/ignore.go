// Package ignore decides which files version control leaves alone, by the rules of .gitignore files.
//
// It works on rules that somebody else has read and on names. It must not know of files, tools or search programs.
package ignore

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// List is the rules of one file. The zero value has none.
type List struct {
	rules []ignoreRule
}

// ignoreRule is one line.
type ignoreRule struct {
	glob     string // matched against the last element of a name, or the name relative to the list's directory
	anchored bool   // the latter
	plain    bool   // there is nothing in glob but itself
	negated  bool
	dirOnly  bool
}

// Parse reads the rules of a file. Lines that can't be rules are no rules.
func Parse(text string) List {
	var l List
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if r, ok := parseLine(strings.TrimSuffix(line, "\r")); ok {
			l.rules = append(l.rules, r)
		}
	}
	return l
}

func parseLine(line string) (ignoreRule, bool) {
	line = trimSpaces(line)
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

// trimSpaces takes spaces off the end, but for one with a backslash before it.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// lastMatch returns the decision of the last matching rule.
func (l List) lastMatch(relative, base string, dir bool) (ignored, decided bool) {
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

// Chain is the rules that hold in a directory: its own, and those of the directories above it, the nearest first.
type Chain struct {
	dir   string // absolute
	lists []List // the strongest first
	above *Chain
}

// Below returns the chain of a directory below c's, with lists of its own; the strongest comes first. c may be nil,
// which has no rules; lists without any change nothing.
func (c *Chain) Below(dir string, lists ...List) *Chain {
	lists = slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return len(l.rules) == 0 })
	if len(lists) == 0 {
		return c
	}
	return &Chain{dir: dir, lists: lists, above: c}
}

// Decide reports whether something in the chain's directory, or below, is ignored, and whether any rule says so or the
// opposite; in is the absolute directory that it is in, base its name there. That a directory above it is ignored is
// its caller's to see: nothing in it is looked at then.
func (c *Chain) Decide(in, base string, dir bool) (ignored, decided bool) {
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
