package shell

import "slices"

// Visitor receives the actions of an interpreted text.
type Visitor interface {
	// VisitCall receives a simple command, or assignments alone with an empty Argv. It may interpret code and commands
	// that the call starts through the methods of [Call]. Function calls are not reported.
	VisitCall(*Call)

	// VisitPath receives a path that the shell itself opens, lists or enters.
	VisitPath(*Place, PathUse, Field)

	// VisitProblem receives a problem that makes the rest of the analysis unreliable.
	VisitProblem(*Place, Problem)
}

// PathUse is the way the shell uses a path.
type PathUse int

// The uses of a path.
const (
	ForReading PathUse = iota
	ForWriting
	ForListing  // a pattern is expanded
	ForEntering // it becomes the working directory
)

// ProblemKind is the kind of a problem.
type ProblemKind string

// The kinds of problem.
const (
	Malformed  ProblemKind = "malformed"   // characters that a command can't contain
	TooLong    ProblemKind = "too-long"    // longer than MaxText
	TooComplex ProblemKind = "too-complex" // beyond another limit
	Syntax     ProblemKind = "syntax"      // not a program of the dialect
	Dynamic    ProblemKind = "dynamic"     // the command word, or code, is only known at run time
	ForkBomb   ProblemKind = "fork-bomb"   // a function that multiplies without end
	Network    ProblemKind = "network"     // bash's /dev/tcp and /dev/udp
)

// Problem is a part of the text that can't be interpreted.
type Problem struct {
	Kind   ProblemKind
	Reason string
	From   []string // of Dynamic: the commands that print the unknown part
	Place  *Place   // set by [CheckText]
}

// Call is a simple command that the text would run.
type Call struct {
	Place
	Argv  []Field
	Env   map[string]string // assignments before the command
	Stdin Stream
	Via   []string // the commands that start this one, outermost first
	From  []string // the commands that print the unknown parts of the words

	Output Stream // output, if the visitor knows it; builtins set it themselves

	in         *Interpreter
	state      *state
	sourceText string
}

// SourceText returns the source text of the command.
func (c *Call) SourceText() string { return c.sourceText }

// WithUnknownDir returns a copy of the command with an unknown working directory.
func (c *Call) WithUnknownDir() *Call {
	moved := *c
	moved.Dir = ""
	moved.state = c.state.cloneState()
	moved.state.dir = ""
	return &moved
}

// LookupVar returns the value of a shell variable, if it is known.
func (c *Call) LookupVar(name string) (string, bool) {
	v := c.state.Get(name)
	return v.String(), v.IsSet() && !HasUnknown(v.String())
}

// InterpretCommand interprets a command that c starts, in the same shell. dir is its working directory; "" means that
// of c.
func (c *Call) InterpretCommand(via string, argv []Field, env map[string]string, dir string) Stream {
	state := c.state
	if dir != "" {
		state = state.cloneState()
		state.dir = dir
	}
	return c.in.interpretCall(c.nestedCall(via, argv, env), state)
}

// InterpretPiped interprets a command that c starts with other standard input.
func (c *Call) InterpretPiped(via string, argv []Field, stdin Stream) Stream {
	inner := c.nestedCall(via, argv, nil)
	inner.Stdin = stdin
	inner.From = mergeNames(c.From, c.Stdin.From)
	after := c.state.cloneState()
	out := c.in.interpretCall(inner, after)
	c.state.keepFiles(after)
	return out
}

// nestedCall returns a call that c starts. via names c.
func (c *Call) nestedCall(via string, argv []Field, env map[string]string) *Call {
	via2 := slices.Concat(c.Via, []string{via})
	return &Call{Place: c.Place, Argv: argv, Env: env, Stdin: c.Stdin, Via: via2, From: c.From, in: c.in, sourceText: c.sourceText}
}

// InterpretCode interprets a text in a new shell with the given parameters ($0 first).
func (c *Call) InterpretCode(text string, params []string) Stream {
	return c.in.interpretSubshell(c.state, &c.Place, func(child *state) Stream {
		child.dropUnexported()
		child.funcs = nil
		for name, value := range c.Env {
			child.setVar(name, value, c.From)
			child.exports = putEntry(child.exports, name, true)
		}
		if len(params) > 0 {
			child.params = params
		}
		return c.in.interpretCode(&c.Place, text, c.From, child, c.Stdin)
	})
}

// InterpretCodeFrom interprets a text in a subshell with other standard input.
func (c *Call) InterpretCodeFrom(text string, stdin Stream) {
	c.in.interpretSubshell(c.state, &c.Place, func(child *state) Stream { return c.in.interpretCode(&c.Place, text, c.From, child, stdin) })
}

// WrittenContent returns the content that earlier commands wrote to a file, and reports whether any did.
func (c *Call) WrittenContent(path string) (Stream, bool) {
	s, ok := c.state.files[c.state.absPath(path)]
	return s, ok
}

// RecordWrite records that the command writes a file.
func (c *Call) RecordWrite(path string, content Stream) { c.state.writeFile(path, content) }
