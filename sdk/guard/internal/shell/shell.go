package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Options say how a text will be run.
type Options struct {
	POSIX bool              // by sh, not bash
	Dir   string            // the working directory, absolute
	Stdin string            // what there is to read; empty for nothing
	Env   map[string]string // as far as it is known; the visitor is told of it before anything else

	Memory *Memory // to work in; nil for one of its own
	Singly bool    // each way is followed by itself, though another one may lead to the same: slower
}

// Interpreter follows one text. It is used once.
type Interpreter struct {
	*Memory
	visitor Visitor
	parser  *syntax.Parser
	top     string // the text that was given
	source  string // the text that is being followed: that, or code within it
	merged  bool   // errors may go where output goes
	span    Span   // of the command whose code is being followed
	steps   int
	work    int // so far: bytes of arguments, and what else takes time
	stopped bool

	// Where the interpretation is.
	depth    int // code within code
	calls    []frame
	called   map[*syntax.Stmt]bool // the bodies of functions that were followed
	returns  []leaving             // by the functions and files that are being followed
	breaks   []leaving             // by the loops whose bodies are being followed
	parallel int                   // pipes and background jobs entered
	fed      int                   // lists of statements entered whose input is known
	branches int                   // entered that need not run
	traps    int                   // that are being followed
	later    int                   // traps that are followed before they run
	jobs     []*job                // statements that run beside what is followed
	beside   bool                  // these are followed again

	// What is recorded of runs that other ways may be led through like.
	recording int // runs
	singly    bool
	comparing int // statements that are being followed on several ways
	gone      int // times that ways have left the loop around

	// What holds from somewhere on, on whatever way.
	references map[string][]string // variables by their other names
	volatile   map[string]bool     // variables that traps may set at any time
	links      map[string][]string // other names of files
	made       map[string]bool     // names that commands got by expansions

	// Statements that stand for functions which may have several bodies: those, and what they were united of.
	alternatives map[*syntax.Stmt][]*syntax.Stmt
	united       map[[2]*syntax.Stmt]*syntax.Stmt

	posix      bool            // the shell may keep to POSIX
	lastpipe   bool            // the last command of a pipe may run in the shell itself
	cdable     bool            // cd may take the name of a variable
	nocase     bool            // patterns may match whatever the case of letters is
	subscripts map[string]bool // texts, by whether they have commands in a subscript
	escapes    bool            // echo may take backslashes for what they are in printf
	keeps      bool            // what is written may not take the place of what was there
}

// frame is a function that is being called.
type frame struct {
	name     string
	parallel int
	params   []string
	body     *syntax.Stmt
}

// Interpret follows text and tells the visitor what it would do. [Check] must have passed it.
func Interpret(text string, opts Options, visitor Visitor) {
	memory := opts.Memory
	if memory == nil {
		memory = new(Memory)
	}
	in := &Interpreter{Memory: memory, visitor: visitor, parser: memory.parser(opts.POSIX), posix: opts.POSIX, singly: opts.Singly, top: text}
	st := &state{in: in, base: opts.Env, dir: opts.Dir, params: []string{"bash"}}
	place := &Place{Dir: opts.Dir, Span: Span{End: len(text), Line: 1, Column: 1}}
	if len(opts.Env) > 0 {
		// The shell itself heeds some of it before it reads a word: BASH_ENV, exported functions, PATH.
		visitor.Call(&Call{Place: *place, Env: opts.Env, in: in, state: st})
	}
	states, _ := in.code(place, text, st, given(opts.Stdin))
	in.span = place.Span
	in.ends(states)
	if in.work > maxWork && !in.stopped {
		in.problem(place, TooComplex, "the command takes too long to follow")
	}
}

// given is the standard input that a text was given. What looks like a mark of this package's own in it is not known.
func given(text string) Stream {
	if text == "" {
		return Stream{}
	}
	if HasUnknown(text) || strings.Contains(text, Unset) || strings.Contains(text, Item) {
		return Stream{Piped: true}
	}
	return Stream{Known: true, Text: text}
}

// code follows a text in a state.
func (in *Interpreter) code(place *Place, source string, st *state, stdin Stream) ([]*state, Stream) {
	if in.depth >= MaxNesting {
		in.problem(place, TooComplex, "code within code within code, too deep to follow")
		return st.alone(), Stream{}
	}
	if strings.Contains(source, Unknown) {
		in.problem(place, Dynamic, "the code is only known when it runs")
		return st.alone(), Stream{}
	}
	if strings.Contains(source, Unset) {
		// Where the environment doesn't have it, it is nothing at all; where it does, it must not be what is run.
		in.code(place, strings.ReplaceAll(source, Unset, ""), st.clone(), stdin)
	}
	nested := in.depth > 0
	if nested {
		if p := Check(marksOfNames.Replace(source)); p != nil {
			in.problem(place, p.Kind, "in the code that it runs: "+p.Reason)
			return st.alone(), Stream{}
		}
	}
	if strings.Contains(source, "$\\\n") {
		in.problem(place, TooComplex, "a line ends between $ and what it stands for")
		return st.alone(), Stream{}
	}
	file, err := in.parser.Parse(strings.NewReader(source), "")
	if err != nil {
		in.syntax(place, source, nested, err)
		return st.alone(), Stream{}
	}
	outer, span := in.source, in.span
	in.source, in.span = source, place.Span
	in.merged = in.merged || merges(source)
	in.posix = in.posix || strings.Contains(source, "posix") || strings.Contains(source, "POSIX")
	in.depth++
	input := st.input
	st.input = nil // what it is given counts
	states, out := in.stmts(file.Stmts, st, stdin)
	for _, after := range states {
		if after.input == nil {
			after.input = input
		}
	}
	if !nested {
		in.uncalled(states)
	}
	in.depth--
	in.source, in.span = outer, span
	return states, out
}

// marksOfNames removes the marks that stand for names in code.
var marksOfNames = strings.NewReplacer(Item, "", Temporary, "", Program, "", Unset, "")

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
	any := func(string) bool { return true }
	for _, st := range states {
		follow := func(name string, body *syntax.Stmt) {
			if in.called[body] {
				return
			}
			c := st.clone()
			c.params = []string{"bash", Unknown}
			c.trap = ""
			ways, _ := in.function(name, body, c, Stream{})
			in.ends(ways)
		}
		for _, name := range st.funcs.keys(in, any) {
			body, _ := st.funcs.get(in, name)
			follow(name, body)
		}
		for _, name := range st.outer.keys(in, any) {
			either, _ := st.outer.get(in, name)
			for _, body := range in.bodies(either) {
				follow(name, body)
			}
		}
	}
}

func (in *Interpreter) problem(place *Place, kind Kind, reason string) {
	in.visitor.Problem(place, Problem{Kind: kind, Reason: reason, Span: place.Span})
}

// step counts the work and says whether there may be more.
func (in *Interpreter) step(place *Place) bool {
	in.steps++
	switch {
	case in.stopped:
	case in.visitor.Settled():
		in.stopped = true
	case in.steps > maxSteps || in.work > maxWork:
		in.stopped = true
		in.problem(place, TooComplex, "the command has too many steps to follow")
	}
	return !in.stopped
}

// stepAt is step at a node.
func (in *Interpreter) stepAt(node syntax.Node, st *state) bool {
	place := in.place(node, st)
	defer in.places.put(place)
	return in.step(place)
}

// place is where a node stands. Code within code has the place of the command that runs it.
func (in *Interpreter) place(node syntax.Node, st *state) *Place {
	place := in.places.get()
	*place = Place{}
	place.Dir, place.Doubt, place.Span = st.dir, st.doubt, in.span
	if in.depth <= 1 {
		pos, end := node.Pos(), node.End()
		place.Span = Span{Start: int(pos.Offset()), End: int(end.Offset()), Line: int(pos.Line()), Column: int(pos.Col())}
	}
	return place
}

// within is the text of a node of a source; "" if there is none.
func within(source string, node syntax.Node) string {
	if node == nil {
		return ""
	}
	start, end := int(node.Pos().Offset()), int(node.End().Offset())
	if start < 0 || end > len(source) || start > end {
		return ""
	}
	return source[start:end]
}
