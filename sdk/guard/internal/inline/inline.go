// Package inline finds the calls in source code that start commands or touch files, for code in languages other than
// shell.
//
// A table for each language maps names of functions to the effects of a call. Literal arguments are reported as they
// are, computed ones as computed. Everything else in the code is ignored.
//
// The package knows the syntax of strings, comments and calls of each language. It must not know which effects are
// dangerous or what a policy allows.
package inline

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// EffectKind is the kind of a code effect: a started command, or a file access such as reading.
type EffectKind string

// Effect kinds.
const (
	Shell    EffectKind = "shell"    // runs Text as a shell command
	Argv     EffectKind = "argv"     // starts the command Argv
	Computed EffectKind = "computed" // starts a command, or runs code, that is only known at run time
	Read     EffectKind = "read"     // reads the file Text
	Write    EffectKind = "write"    // writes the file Text
	List     EffectKind = "list"     // lists the directory Text
	Delete   EffectKind = "delete"   // deletes the file Text
	ForkBomb EffectKind = "fork-bomb"
	Remote   EffectKind = "remote"  // connects a command to another machine
	Complex  EffectKind = "complex" // the code is too long to analyse
)

// CodeEffect is one command that code starts or one file that it accesses.
type CodeEffect struct {
	Kind        EffectKind
	Text        string
	Argv        []string
	ReadsOutput bool // the command Text reads the output of the code

	Input string // literal standard input of the started command, if known

	// ChangesDir reports whether the code changes its working directory, so that the base of relative paths is unknown.
	ChangesDir bool
}

const (
	maxDepth         = 8       // limits nested code
	maxArgumentBytes = 1 << 18 // limits the length of all analysed arguments together
)

// FindEffects returns the commands and file accesses in code, as far as the table of its language knows them.
func FindEffects(language, code string) []CodeEffect {
	if language == "sed" {
		return findSedEffects(code)
	}
	return findEffects(loadTables().findTable(language), code, 0)
}

// findEffects returns the effects of code at a nesting depth.
func findEffects(l *LanguageTable, code string, depth int) []CodeEffect {
	if l == nil || depth > maxDepth {
		return nil
	}
	var out []CodeEffect
	for _, p := range l.Patterns {
		out = append(out, p.findEffects(code)...)
	}
	s := &callScanner{language: l, code: code, depth: depth, imports: l.importedNames(code)}
	s.collectCallEffects()
	for _, e := range s.effects {
		e.ChangesDir = e.ChangesDir || s.changesDir
		out = append(out, e)
	}
	switch {
	case s.callsFork && loopPattern().MatchString(code):
		out = append(out, CodeEffect{Kind: ForkBomb, Text: "fork in a loop"})
	case s.opensSocket && s.startsCommand:
		out = append(out, CodeEffect{Kind: Remote, Text: "a socket"})
	}
	return out
}

// findEffects returns an effect for each match of the pattern. Its text is the first group, or else the whole match.
func (p *EffectPattern) findEffects(code string) []CodeEffect {
	var out []CodeEffect
	for _, m := range p.expression.FindAllStringSubmatch(code, -1) {
		text := m[0]
		if len(m) > 1 {
			text = strings.TrimSpace(m[1])
		}
		if p.Action == "code" {
			out = append(out, findEffects(loadTables().findTable(p.Lang), text, maxDepth)...)
		} else {
			out = append(out, CodeEffect{Kind: EffectKind(p.Action), Text: text, ReadsOutput: p.ReadsOutput})
		}
	}
	return out
}

var (
	loopPattern = lazyregexp.New(`\b(while|until|loop|forever|times)\b|for\s*\(\s*;`)

	importAs   = lazyregexp.New(`\bimport\s+(?:[\w. ]+,)*\s*([\w.]+)\s+as\s+(\w+)`)
	importFrom = lazyregexp.New(`\bfrom\s+([\w.]+)\s+import\s+(\([^)]*\)|[\w ,*]+)`)
)

// importedNames maps names that Python code imports to their full names.
func (l *LanguageTable) importedNames(code string) map[string]string {
	if !l.ImportsNames || !strings.Contains(code, "import") {
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

// HasComputedPart reports whether a part of the text is only known at run time.
func HasComputedPart(text string) bool { return strings.Contains(text, shell.Unknown) }
