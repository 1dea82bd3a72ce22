package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// The tiers of rules for commands.
const (
	tierSoft = "soft"
	tierHard = "hard"
)

// finding is one reason to refuse a command.
type finding struct {
	verdict Verdict
	rule    string
	line    string // the first line of the refusal
	why     string
	safer   string // what to do instead
	setting string // what lifts it
	tier    string
	span    shell.Span
	argv    []string
}

// analysis collects what is found in one command.
type analysis struct {
	guard       *Guard
	text        string
	rules       bool         // the built-in rules apply
	paths       bool         // paths are confined
	guessing    bool         // what is being followed may not be a command at all
	fed         *shell.Call  // what is refused of it is refused for what it reads
	said        shell.Stream // what the code that was followed last is seen to print
	moved       bool         // something was moved to where mktemp makes directories
	kept        bool         // git was given something to keep
	worst       *finding
	following   int         // scripts, within each other
	dir         string      // that the command starts in
	nested      int         // texts for Windows shells that are being followed
	steps       int         // commands of Windows shells so far
	words       int         // words of these
	configuring []string    // the settings of git's that are followed just now
	beside      string      // the directory of the file whose code comes next, if it is code of a file
	made        int         // bytes of makefiles so far
	importing   []importing // files that are being followed since a program may import them
	edits       int         // bytes of text that sed was followed over
	fixed       *shell.Span // where to say that everything is found, if not nil
	resolver    resolver
	open        pathKey // the last path that was found to be open
	programs    *programs.Memory
	effects     map[codeKey][]lang.Effect // of code that was read so far
	copying     *copying                  // how the command that is being decided on makes files out of others, once that was asked
	symlinks    map[string]bool           // symbolic links that the line makes, or may make, by absolute path
	copiedTrees int                       // files that were copied so far with the directories that they are in
	copiedFrom  int                       // files that were copied so far, each as often as there are files that it may have been copied from
}

// pathKey is what is done with a path.
type pathKey struct {
	access Access
	path   string
}

// add keeps the strictest finding, and of equally strict ones the first.
func (a *analysis) add(f finding) {
	if a.guessing && f.verdict == Deny {
		f.verdict = Ask
	}
	if a.fixed != nil {
		f.span = *a.fixed
	}
	if a.worst == nil || f.verdict > a.worst.verdict {
		a.worst = &f
	}
}

// Settled implements [shell.Visitor]: of refusals, the first counts.
func (a *analysis) Settled() bool { return a.worst != nil && a.worst.verdict == Deny }

// decision is what the findings come to.
func (a *analysis) decision() Decision {
	f := a.worst
	if f == nil {
		return Decision{Verdict: Allow}
	}
	d := Decision{Verdict: f.verdict, Rule: f.rule, Tier: f.tier, Reason: f.line, Argv: visible(f.argv)}.with(f.safer, f.setting)
	if f.why != "" {
		d.Reason += "\n" + printable(marks.Replace(f.why))
	}
	if span := narrowed(a.text, f); span.Line > 0 && span.Start <= span.End && span.End <= len(a.text) {
		d.Span = &Span{Start: span.Start, End: span.End, Line: span.Line, Column: span.Column, Text: a.text[span.Start:span.End]}
	}
	return d
}

// marks shows people the marks of what isn't known.
var marks = strings.NewReplacer(shell.Unknown, "…", shell.Item, "{}", shell.Unset, "", shell.Substituted, "N", "/"+shell.Temporary, "/tmp", shell.Temporary, "", shell.Program, "usr/bin")

func visible(argv []string) []string {
	if argv == nil {
		return nil
	}
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = marks.Replace(arg)
	}
	return out
}
