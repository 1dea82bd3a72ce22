// Package shell interprets a shell command without running it.
//
// An [Interpreter] follows the text statement by statement, as a shell would. It tracks known values of variables,
// the working directory, functions and written files. A [Visitor] gets every simple command with its expanded
// arguments, every path that the shell itself opens, and every problem.
//
// The package knows the language and the builtins of the shell. It must not know which programs are dangerous, the
// meaning of their arguments, or what a policy allows.
package shell

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// InterpretOptions are the initial directory, environment and input of an interpreted text.
type InterpretOptions struct {
	Dir   string            // the working directory, absolute
	Env   map[string]string // known part of the environment
	Stdin string            // standard input, if known
}

// Interpreter interprets one text. It can't be reused.
type Interpreter struct {
	visitor       Visitor
	lang          syntax.LangVariant
	parser        *syntax.Parser
	source        *interpretedSource // the text being interpreted
	steps         int
	codeBytes     int // of code so far
	argumentBytes int // length of all arguments so far
	depth         int // levels of nested code
	callStack     []functionFrame
	interpreted   map[*syntax.Stmt]bool // bodies of functions interpreted so far
	parallelDepth int                   // number of open pipes and background jobs
	stopped       bool
}

// functionFrame is a function call in progress.
type functionFrame struct {
	name          string
	parallelDepth int
}

// Interpret interprets a text and reports its commands, paths and problems to the visitor. [CheckCommandText] must have
// accepted the text.
func Interpret(text string, opts InterpretOptions, visitor Visitor) {
	in := &Interpreter{visitor: visitor, lang: syntax.LangBash}
	in.parser = syntax.NewParser(syntax.Variant(in.lang))
	place := NewLocation(text, 0, len(text), opts.Dir)
	st := &shellState{baseEnv: opts.Env, dir: opts.Dir, params: []string{"bash"}}
	if len(opts.Env) > 0 {
		// What the environment makes programs do is decided on once, as if the text had set it.
		in.source = place.source
		visitor.VisitCommand(&SimpleCommand{CommandLocation: *place, Env: opts.Env, in: in, state: st})
	}
	stdin := StreamContent{}
	if opts.Stdin != "" {
		stdin = TextStream(opts.Stdin)
	}
	in.interpretCode(place, text, nil, st, stdin)
}

// interpretCode parses and interprets a text in a shell state. from names the commands that printed its unknown parts.
func (in *Interpreter) interpretCode(place *CommandLocation, code string, from []string, st *shellState, stdin StreamContent) StreamContent {
	if in.depth >= MaxNesting {
		in.stopped = true
		in.reportProblem(place, TooComplex, "code within code within code, too deep to follow")
		return StreamContent{}
	}
	if HasUnknown(code) {
		in.visitor.VisitProblem(place, AnalysisProblem{Kind: Dynamic, Reason: "the code is only known when it runs", From: from})
		if !strings.ContainsFunc(code, unicode.IsLetter) {
			return unknownStream("a command")
		}
	}
	nested := in.depth > 0
	if in.codeBytes += len(code); in.codeBytes > maxCode {
		in.stopped = true
		in.reportProblem(place, TooComplex, "the command runs too much code to follow")
		return StreamContent{}
	}
	if nested {
		if p := CheckCommandText(markRemover.Replace(code)); p != nil {
			in.reportProblem(place, p.Kind, "in the code that it runs: "+p.Reason)
			return StreamContent{}
		}
	}
	file, err := in.parser.Parse(strings.NewReader(code), "")
	if err != nil {
		if !HasUnknown(code) {
			in.reportSyntaxError(place, code, nested, err)
		}
		return StreamContent{}
	}
	outer := in.source
	if in.source = place.source; nested {
		in.source = &interpretedSource{text: code, runBy: place}
	}
	in.depth++
	out := in.interpretStmts(file.Stmts, st, stdin)
	if !nested {
		in.interpretTraps(place, st)
		in.interpretUncalledFunctions(st)
	}
	in.depth--
	in.source = outer
	return out
}

func (in *Interpreter) interpretTraps(place *CommandLocation, st *shellState) {
	for len(st.traps) > 0 && !in.stopped {
		trap := st.traps[0]
		st.traps, st.isDead = st.traps[1:], false
		in.interpretCode(place, trap, nil, st, StreamContent{})
	}
}

// interpretNestedSubstitutions interprets substitutions in a text that bash expands a second time. Examples are
// arithmetic expressions and array indexes: `a[$(command)]` runs the command.
func (in *Interpreter) interpretNestedSubstitutions(place *CommandLocation, text string, st *shellState) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		in.interpretSubshell(st, place, func(child *shellState) StreamContent {
			return in.interpretCode(place, `: "`+strings.ReplaceAll(text, `"`, `\"`)+`"`, nil, child, StreamContent{})
		})
	}
}

// markRemover removes the marks of unknown parts from a text.
var markRemover = strings.NewReplacer(Unknown, "", Unset, "", Item, "", Substituted, "", Temporary, "")

func (in *Interpreter) reportSyntaxError(place *CommandLocation, code string, nested bool, err error) {
	problem := AnalysisProblem{Kind: Syntax, Reason: "it can't be parsed: " + err.Error()}
	var parse syntax.ParseError
	var lang syntax.LangError
	var pos syntax.Pos
	switch {
	case errors.As(err, &parse):
		problem.Reason = fmt.Sprintf("syntax error at line %d, column %d: %s", parse.Pos.Line(), parse.Pos.Col(), parse.Text)
		pos = parse.Pos
	case errors.As(err, &lang):
		pos = lang.Pos
	}
	if nested {
		problem.Reason = "in the code that it runs: " + problem.Reason
	} else if pos.IsValid() {
		at := min(int(pos.Offset()), len(code))
		place = &CommandLocation{Dir: place.Dir, byteRange: byteRange{start: at, end: min(at+1, len(code))}, source: place.source}
	}
	in.visitor.VisitProblem(place, problem)
}

// interpretUncalledFunctions interprets functions that the text defines but never calls, because a started program
// could call them.
func (in *Interpreter) interpretUncalledFunctions(st *shellState) {
	for _, name := range slices.Sorted(maps.Keys(st.funcs)) {
		if body := st.funcs[name]; !in.interpreted[body] {
			c := st.cloneState()
			c.isDead = false
			c.params = []string{"bash", Unknown}
			in.interpretFunction(name, body, c, StreamContent{})
			in.interpretTraps(in.nodeLocation(body, c), c)
		}
	}
}

func (in *Interpreter) reportProblem(place *CommandLocation, kind AnalysisProblemKind, reason string) {
	in.visitor.VisitProblem(place, AnalysisProblem{Kind: kind, Reason: reason})
}

// countExpandedBytes counts bytes of expanded words, and stops the interpreter above the limit. It reports whether to
// continue.
func (in *Interpreter) countExpandedBytes(bytes int, place *CommandLocation) bool {
	if in.argumentBytes += bytes; in.argumentBytes > maxArgumentBytes {
		in.stopAtExpansionLimit(place)
	}
	return !in.stopped
}

// stopAtExpansionLimit stops the interpreter: a word expands to too much text.
func (in *Interpreter) stopAtExpansionLimit(place *CommandLocation) {
	if !in.stopped {
		in.stopped = true
		in.reportProblem(place, TooComplex, "a word expands to too much")
	}
}

// countStep counts one step, and stops the interpreter above the limit. It reports whether to continue.
func (in *Interpreter) countStep(place *CommandLocation) bool {
	if in.steps++; in.steps > maxSteps && !in.stopped {
		in.stopped = true
		in.reportProblem(place, TooComplex, "the command has too many steps to follow")
	}
	return !in.stopped
}
