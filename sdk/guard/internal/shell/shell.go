package shell

import (
	"errors"
	"fmt"
	"strings"

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
	source   string // the text that is being followed: the one that was given, or code within it
	span     Span   // of the command whose code is being followed
	steps    int
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
	st := &state{base: opts.Env, dir: opts.Dir, params: []string{"bash"}}
	in.code(&Place{Dir: opts.Dir, Span: Span{End: len(text), Line: 1, Column: 1}}, text, st, input(opts.Stdin))
}

// input is the standard input that a text begins with.
func input(text string) Stream {
	if text == "" {
		return Stream{}
	}
	return known(text)
}

// code follows a text in a state.
func (in *Interpreter) code(place *Place, source string, st *state, stdin Stream) ([]*state, Stream) {
	if in.depth >= MaxNesting {
		in.problem(place, TooComplex, "code within code within code, too deep to follow")
		return []*state{st}, Stream{}
	}
	if strings.Contains(source, Unknown) || strings.Contains(source, Unset) {
		in.problem(place, Dynamic, "the code is only known when it runs")
		return []*state{st}, Stream{}
	}
	nested := in.depth > 0
	if nested {
		if p := Check(strings.ReplaceAll(source, Item, "")); p != nil {
			in.problem(place, p.Kind, "in the code that it runs: "+p.Reason)
			return []*state{st}, Stream{}
		}
	}
	file, err := in.parser.Parse(strings.NewReader(source), "")
	if err != nil {
		in.syntax(place, source, nested, err)
		return []*state{st}, Stream{}
	}
	outer, span := in.source, in.span
	in.source, in.span = source, place.Span
	in.depth++
	states, out := in.stmts(file.Stmts, st, stdin)
	if !nested {
		in.uncalled(states)
	}
	in.depth--
	in.source, in.span = outer, span
	return states, out
}

// syntax reports a text that isn't a program.
func (in *Interpreter) syntax(place *Place, source string, nested bool, err error) {
	problem := Problem{Kind: Syntax, Reason: "it can't be parsed: " + err.Error(), Span: place.Span}
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
		at := min(int(pos.Offset()), len(source))
		problem.Span = Span{Start: at, End: min(at+1, len(source)), Line: int(pos.Line()), Column: int(pos.Col())}
	}
	in.visitor.Problem(place, problem)
}

// uncalled follows the functions that the text defines and never calls: something that it starts may.
func (in *Interpreter) uncalled(states []*state) {
	for _, st := range states {
		for name, body := range st.funcs {
			if in.called[body] {
				continue
			}
			c := st.clone()
			c.params = []string{"bash", Unknown}
			in.function(name, body, c, Stream{})
		}
	}
}

func (in *Interpreter) problem(place *Place, kind Kind, reason string) {
	in.visitor.Problem(place, Problem{Kind: kind, Reason: reason, Span: place.Span})
}

// step counts the work and says whether there may be more.
func (in *Interpreter) step(place *Place) bool {
	if in.steps++; in.steps > maxSteps && !in.stopped {
		in.stopped = true
		in.problem(place, TooComplex, "the command has too many steps to follow")
	}
	return !in.stopped
}

// place is where a node stands. Code within code has the place of the command that runs it.
func (in *Interpreter) place(node syntax.Node, st *state) *Place {
	if in.depth > 1 {
		return &Place{Span: in.span, Dir: st.dir}
	}
	pos, end := node.Pos(), node.End()
	return &Place{Dir: st.dir, Span: Span{Start: int(pos.Offset()), End: int(end.Offset()), Line: int(pos.Line()), Column: int(pos.Col())}}
}

// raw is the text of a node.
func (in *Interpreter) raw(node syntax.Node) string {
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start < 0 || end > len(in.source) || start > end {
		return ""
	}
	return in.source[start:end]
}
