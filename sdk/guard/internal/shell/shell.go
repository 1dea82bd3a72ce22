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

// Options are the conditions under which a text will run.
type Options struct {
	Dir   string            // the working directory, absolute
	Env   map[string]string // known part of the environment
	Stdin string            // standard input, if known
}

// Interpreter interprets one text. It is used once.
type Interpreter struct {
	visitor       Visitor
	lang          syntax.LangVariant
	parser        *syntax.Parser
	source        *codeSource // the text being interpreted
	steps         int
	codeBytes     int // of code so far
	argumentBytes int // length of all arguments so far
	depth         int // levels of nested code
	callStack     []callFrame
	interpreted   map[*syntax.Stmt]bool // bodies of functions interpreted so far
	parallelDepth int                   // number of open pipes and background jobs
	stopped       bool
}

// callFrame is a function call in progress.
type callFrame struct {
	name          string
	parallelDepth int
}

// Interpret interprets a text and reports its actions to the visitor. The text must have passed [CheckText].
func Interpret(text string, opts Options, visitor Visitor) {
	in := &Interpreter{visitor: visitor, lang: syntax.LangBash}
	in.parser = syntax.NewParser(syntax.Variant(in.lang))
	place := NewPlace(text, 0, len(text), opts.Dir)
	st := &state{baseEnv: opts.Env, dir: opts.Dir, params: []string{"bash"}}
	if len(opts.Env) > 0 {
		// What the environment makes programs do is decided on once, as if the text had set it.
		in.source = place.source
		visitor.VisitCall(&Call{Place: *place, Env: opts.Env, in: in, state: st})
	}
	in.interpretCode(place, text, nil, st, initialStdin(opts.Stdin))
}

// initialStdin returns the standard input of the whole text.
func initialStdin(text string) Stream {
	if text == "" {
		return Stream{}
	}
	return streamOf(text)
}

// interpretCode interprets a text in a state. From names the commands that printed its unknown parts.
func (in *Interpreter) interpretCode(place *Place, code string, from []string, st *state, stdin Stream) Stream {
	if in.depth >= MaxNesting {
		in.stopped = true
		in.reportProblem(place, TooComplex, "code within code within code, too deep to follow")
		return Stream{}
	}
	if HasUnknown(code) {
		in.visitor.VisitProblem(place, Problem{Kind: Dynamic, Reason: "the code is only known when it runs", From: from})
		if !strings.ContainsFunc(code, unicode.IsLetter) {
			return unknownStream("a command")
		}
	}
	nested := in.depth > 0
	if in.codeBytes += len(code); in.codeBytes > maxCode {
		in.stopped = true
		in.reportProblem(place, TooComplex, "the command runs too much code to follow")
		return Stream{}
	}
	if nested {
		if p := CheckText(markRemover.Replace(code)); p != nil {
			in.reportProblem(place, p.Kind, "in the code that it runs: "+p.Reason)
			return Stream{}
		}
	}
	file, err := in.parser.Parse(strings.NewReader(code), "")
	if err != nil {
		if !HasUnknown(code) {
			in.reportSyntaxError(place, code, nested, err)
		}
		return Stream{}
	}
	outer := in.source
	if in.source = place.source; nested {
		in.source = &codeSource{text: code, runBy: place}
	}
	in.depth++
	out := in.interpretStmts(file.Stmts, st, stdin)
	if !nested {
		in.runTraps(place, st)
		in.interpretUncalled(st)
	}
	in.depth--
	in.source = outer
	return out
}

// runTraps interprets the traps of a shell that ends.
func (in *Interpreter) runTraps(place *Place, st *state) {
	for len(st.traps) > 0 && !in.stopped {
		trap := st.traps[0]
		st.traps, st.isDead = st.traps[1:], false
		in.interpretCode(place, trap, nil, st, Stream{})
	}
}

// interpretEvaluated interprets the substitutions in a text that bash expands again as an expression or a variable
// name: `a[$(command)]` runs the command.
func (in *Interpreter) interpretEvaluated(place *Place, text string, st *state) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		in.interpretSubshell(st, place, func(child *state) Stream {
			return in.interpretCode(place, `: "`+strings.ReplaceAll(text, `"`, `\"`)+`"`, nil, child, Stream{})
		})
	}
}

// markRemover removes the marks of unknown parts from a text.
var markRemover = strings.NewReplacer(Unknown, "", Unset, "", Item, "", Substituted, "", Temporary, "")

// reportSyntaxError reports a text that can't be parsed.
func (in *Interpreter) reportSyntaxError(place *Place, code string, nested bool, err error) {
	problem := Problem{Kind: Syntax, Reason: "it can't be parsed: " + err.Error()}
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
		place = &Place{Dir: place.Dir, byteRange: byteRange{start: at, end: min(at+1, len(code))}, source: place.source}
	}
	in.visitor.VisitProblem(place, problem)
}

// interpretUncalled interprets functions that the text defines and never calls: a program started by the text could
// call them.
func (in *Interpreter) interpretUncalled(st *state) {
	for _, name := range slices.Sorted(maps.Keys(st.funcs)) {
		if body := st.funcs[name]; !in.interpreted[body] {
			c := st.cloneState()
			c.isDead = false
			c.params = []string{"bash", Unknown}
			in.interpretFunction(name, body, c, Stream{})
			in.runTraps(in.nodePlace(body, c), c)
		}
	}
}

// reportProblem reports a problem to the visitor.
func (in *Interpreter) reportProblem(place *Place, kind ProblemKind, reason string) {
	in.visitor.VisitProblem(place, Problem{Kind: kind, Reason: reason})
}

// spendBytes counts the bytes of expanded words, and reports whether the limit allows more.
func (in *Interpreter) spendBytes(bytes int, place *Place) bool {
	if in.argumentBytes += bytes; in.argumentBytes > maxArgumentBytes {
		in.stopExpansion(place)
	}
	return !in.stopped
}

// stopExpansion stops the interpreter because a word expands to too much.
func (in *Interpreter) stopExpansion(place *Place) {
	if !in.stopped {
		in.stopped = true
		in.reportProblem(place, TooComplex, "a word expands to too much")
	}
}

// countStep counts one step, and reports whether the limit allows it.
func (in *Interpreter) countStep(place *Place) bool {
	if in.steps++; in.steps > maxSteps && !in.stopped {
		in.stopped = true
		in.reportProblem(place, TooComplex, "the command has too many steps to follow")
	}
	return !in.stopped
}
