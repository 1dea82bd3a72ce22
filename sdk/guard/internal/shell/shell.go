// Package shell interprets a shell command without running it.
//
// It follows the text the way a shell would, statement by statement, keeping what is known of variables, working
// directory, functions and files written on the way, and tells a [Visitor] about every simple command with
// the arguments that it would get, about every path that the shell itself opens, and about what can't be known.
//
// It knows the shell's language and its builtins. It must not know which programs are dangerous, what their
// arguments mean, or what a policy allows.
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

// Options say how a text will be run.
type Options struct {
	Dir   string            // the working directory, absolute
	Env   map[string]string // as far as it is known
	Stdin string            // what it reads, if anything is known of it
}

// Interpreter follows one text. It is used once.
type Interpreter struct {
	visitor  Visitor
	lang     syntax.LangVariant
	parser   *syntax.Parser
	source   *source // the text that is being followed
	steps    int
	bytes    int // of code so far
	words    int // bytes of arguments so far
	depth    int // code within code
	calls    []frame
	called   map[*syntax.Stmt]bool // the bodies of functions that were followed
	parallel int                   // pipes and background jobs entered
	stopped  bool
}

// frame is a function that is being called.
type frame struct {
	name     string
	parallel int
}

// Interpret follows text and tells the visitor what it would do. [Check] must have passed it.
func Interpret(text string, opts Options, visitor Visitor) {
	in := &Interpreter{visitor: visitor, lang: syntax.LangBash}
	in.parser = syntax.NewParser(syntax.Variant(in.lang))
	place := NewPlace(text, 0, len(text), opts.Dir)
	st := &state{base: opts.Env, dir: opts.Dir, params: []string{"bash"}}
	if len(opts.Env) > 0 {
		// What the environment makes programs do is decided on once, as if the text had set it.
		in.source = place.text
		visitor.Call(&Call{Place: *place, Env: opts.Env, in: in, state: st})
	}
	in.code(place, text, nil, st, input(opts.Stdin))
}

// input is the standard input that a text begins with.
func input(text string) Stream {
	if text == "" {
		return Stream{}
	}
	return known(text)
}

// code follows a text in a state. From are the commands that printed its unknown parts.
func (in *Interpreter) code(place *Place, code string, from []string, st *state, stdin Stream) Stream {
	if in.depth >= MaxNesting {
		in.stopped = true
		in.problem(place, TooComplex, "code within code within code, too deep to follow")
		return Stream{}
	}
	if HasUnknown(code) {
		in.visitor.Problem(place, Problem{Kind: Dynamic, Reason: "the code is only known when it runs", From: from})
		if !strings.ContainsFunc(code, unicode.IsLetter) {
			return printed("a command")
		}
	}
	nested := in.depth > 0
	if in.bytes += len(code); in.bytes > maxCode {
		in.stopped = true
		in.problem(place, TooComplex, "the command runs too much code to follow")
		return Stream{}
	}
	if nested {
		if p := Check(marks.Replace(code)); p != nil {
			in.problem(place, p.Kind, "in the code that it runs: "+p.Reason)
			return Stream{}
		}
	}
	file, err := in.parser.Parse(strings.NewReader(code), "")
	if err != nil {
		if !HasUnknown(code) {
			in.syntax(place, code, nested, err)
		}
		return Stream{}
	}
	outer := in.source
	if in.source = place.text; nested {
		in.source = &source{text: code, runs: place}
	}
	in.depth++
	out := in.stmts(file.Stmts, st, stdin)
	if !nested {
		in.end(place, st)
		in.uncalled(st)
	}
	in.depth--
	in.source = outer
	return out
}

// end follows the traps of a shell that ends.
func (in *Interpreter) end(place *Place, st *state) {
	for len(st.traps) > 0 && !in.stopped {
		trap := st.traps[0]
		st.traps, st.dead = st.traps[1:], false
		in.code(place, trap, nil, st, Stream{})
	}
}

// evaluated follows a text that bash expands once more where it counts as an expression or as the name of a variable:
// `a[$(command)]` runs the command.
func (in *Interpreter) evaluated(place *Place, text string, st *state) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		in.child(st, place, func(child *state) Stream {
			return in.code(place, `: "`+strings.ReplaceAll(text, `"`, `\"`)+`"`, nil, child, Stream{})
		})
	}
}

// marks takes the marks of what isn't known out of a text.
var marks = strings.NewReplacer(Unknown, "", Unset, "", Item, "", Substituted, "", Temporary, "")

// syntax reports a text that isn't a program.
func (in *Interpreter) syntax(place *Place, code string, nested bool, err error) {
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
		place = &Place{Dir: place.Dir, part: part{start: at, end: min(at+1, len(code))}, text: place.text}
	}
	in.visitor.Problem(place, problem)
}

// uncalled follows the functions that the text defines and never calls: something that it starts may.
func (in *Interpreter) uncalled(st *state) {
	for _, name := range slices.Sorted(maps.Keys(st.funcs)) {
		if body := st.funcs[name]; !in.called[body] {
			c := st.clone()
			c.dead = false
			c.params = []string{"bash", Unknown}
			in.function(name, body, c, Stream{})
			in.end(in.place(body, c), c)
		}
	}
}

func (in *Interpreter) problem(place *Place, kind Kind, reason string) {
	in.visitor.Problem(place, Problem{Kind: kind, Reason: reason})
}

// spend counts the bytes that words expand to, and reports whether there may be more.
func (in *Interpreter) spend(bytes int, place *Place) bool {
	if in.words += bytes; in.words > maxWords {
		in.tooMuch(place)
	}
	return !in.stopped
}

func (in *Interpreter) tooMuch(place *Place) {
	if !in.stopped {
		in.stopped = true
		in.problem(place, TooComplex, "a word expands to too much")
	}
}

// step counts the work and reports whether there may be more.
func (in *Interpreter) step(place *Place) bool {
	if in.steps++; in.steps > maxSteps && !in.stopped {
		in.stopped = true
		in.problem(place, TooComplex, "the command has too many steps to follow")
	}
	return !in.stopped
}
