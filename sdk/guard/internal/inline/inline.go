// Package inline finds the calls in code of other languages that start commands or touch files.
//
// It goes by one table for each language: what a call of that name does with its arguments. Arguments that stand there
// literally are told; what is computed is told as computed, and everything else in the code is not looked at.
//
// It knows the languages' strings, comments and calls. It must not know what is dangerous or what a policy allows.
package inline

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Kind is what a call does.
type Kind string

// The kinds of effects.
const (
	Shell    Kind = "shell"    // runs Text as a shell command
	Argv     Kind = "argv"     // starts the command Argv
	Computed Kind = "computed" // starts a command, or runs code, that is only known when it runs
	Read     Kind = "read"     // reads the file Text
	Write    Kind = "write"    // writes the file Text
	List     Kind = "list"     // lists the directory Text
	Delete   Kind = "delete"   // deletes the file Text
	ForkBomb Kind = "fork-bomb"
	Remote   Kind = "remote"  // connects a command with another machine
	Complex  Kind = "complex" // the code is too long to look through
)

// Effect is one thing that code does.
type Effect struct {
	Kind Kind
	Text string
	Argv []string
	Fed  bool // what Text runs reads what the code prints

	Input string // what a command reads that is started, if it stands in the code

	// Moved reports whether the code changes its working directory, so that nobody knows where relative paths begin.
	Moved bool
}

const (
	maxDepth = 8       // code within code
	maxWork  = 1 << 18 // bytes of arguments that are looked through
)

// Effects returns what code of a language does, as far as its table tells.
func Effects(language, code string) []Effect {
	if language == "sed" {
		return sedEffects(code)
	}
	return effects(table().find(language), code, 0)
}

func effects(l *Language, code string, depth int) []Effect {
	if l == nil || depth > maxDepth {
		return nil
	}
	var out []Effect
	for _, p := range l.Patterns {
		out = append(out, p.effects(code)...)
	}
	s := &scanner{language: l, code: code, depth: depth, imports: l.imports(code)}
	s.scan()
	for _, e := range s.out {
		e.Moved = e.Moved || s.moved
		out = append(out, e)
	}
	switch {
	case s.forks && l.loops.MatchString(code):
		out = append(out, Effect{Kind: ForkBomb, Text: "fork in a loop"})
	case s.sockets && s.starts:
		out = append(out, Effect{Kind: Remote, Text: "a socket"})
	}
	return out
}

// effects returns what the parts of the code do that the pattern matches: its first group.
func (p *Pattern) effects(code string) []Effect {
	var out []Effect
	for _, m := range p.expression.FindAllStringSubmatch(code, -1) {
		text := m[0]
		if len(m) > 1 {
			text = strings.TrimSpace(m[1])
		}
		switch p.Does {
		case "code":
			out = append(out, effects(table().find(p.Lang), text, maxDepth)...)
		default:
			out = append(out, Effect{Kind: Kind(p.Does), Text: text, Fed: p.Fed})
		}
	}
	return out
}

var (
	importAs   = lazyregexp.New(`\bimport\s+(?:[\w. ]+,)*\s*([\w.]+)\s+as\s+(\w+)`)
	importFrom = lazyregexp.New(`\bfrom\s+([\w.]+)\s+import\s+(\([^)]*\)|[\w ,*]+)`)
)

// imports returns the full names of what the code calls by other ones.
func (l *Language) imports(code string) map[string]string {
	if !l.Imports || !strings.Contains(code, "import") {
		return nil
	}
	names := map[string]string{}
	for _, m := range importAs().FindAllStringSubmatch(code, -1) {
		names[m[2]] = m[1]
	}
	for _, m := range importFrom().FindAllStringSubmatch(code, -1) {
		for item := range strings.SplitSeq(strings.Trim(m[2], "()"), ",") {
			switch words := strings.Fields(item); {
			case len(words) == 1 && words[0] == "*":
				names["*"] = m[1]
			case len(words) == 1:
				names[words[0]] = m[1] + "." + words[0]
			case len(words) == 3 && words[1] == "as":
				names[words[2]] = m[1] + "." + words[0]
			}
		}
	}
	return names
}

// HasComputed reports whether part of a text is only known when the code runs.
func HasComputed(text string) bool { return strings.Contains(text, shell.Unknown) }
