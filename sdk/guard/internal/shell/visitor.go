package shell

import "slices"

// Visitor is told what the interpreted text would do.
type Visitor interface {
	// Call is a simple command that is no function; or assignments alone, then Argv is empty. It may
	// interpret what the command would run in turn through the methods of [Call].
	Call(*Call)

	// Open is a path that the shell itself opens, lists or enters.
	Open(*Place, Use, Field)

	// Problem is something that makes the rest of the analysis unsafe to rely on.
	Problem(*Place, Problem)
}

// Use is what the shell does with a path.
type Use int

// The uses of a path.
const (
	ForReading Use = iota
	ForWriting
	ForListing  // a pattern is expanded
	ForEntering // the working directory becomes it
)

// Kind is the kind of a problem.
type Kind string

// The kinds of problem.
const (
	Malformed  Kind = "malformed"   // characters that a command can't hold
	TooLong    Kind = "too-long"    // beyond MaxText
	TooComplex Kind = "too-complex" // beyond another bound
	Syntax     Kind = "syntax"      // not a program of the dialect
	Dynamic    Kind = "dynamic"     // the command word, or code, is only known when it runs
	ForkBomb   Kind = "fork-bomb"   // a function that multiplies without end
	Network    Kind = "network"     // bash's /dev/tcp and /dev/udp
)

// Problem is something that can't be interpreted.
type Problem struct {
	Kind   Kind
	Reason string
	From   []string // of Dynamic: the commands that print what isn't known
	Place  *Place   // of what [Check] finds
}

// Call is a simple command that would run.
type Call struct {
	Place
	Argv  []Field
	Env   map[string]string // assigned in front of the command
	Stdin Stream
	Via   []string // the commands that start this one, outermost first
	From  []string // the commands that print the unknown parts of the words

	Output Stream // what it prints, as far as the visitor knows; the shell's own commands fill it themselves

	in    *Interpreter
	state *state
	raw   string
}

// Source returns the command as it stands in the text.
func (c *Call) Source() string { return c.raw }

// Elsewhere returns the same command in a directory that isn't known.
func (c *Call) Elsewhere() *Call {
	moved := *c
	moved.Dir = ""
	moved.state = c.state.clone()
	moved.state.dir = ""
	return &moved
}

// Lookup returns the value of a shell variable, if it is known.
func (c *Call) Lookup(name string) (string, bool) {
	v := c.state.Get(name)
	return v.String(), v.IsSet() && !HasUnknown(v.String())
}

// Exec interprets a command that this one starts, in the same shell and directory.
func (c *Call) Exec(via string, argv []Field, env map[string]string, dir string) Stream {
	state := c.state
	if dir != "" {
		state = state.clone()
		state.dir = dir
	}
	return c.in.call(c.nested(via, argv, env), state)
}

// Pipe is like Exec, for a command that gets other input than this one.
func (c *Call) Pipe(via string, argv []Field, stdin Stream) Stream {
	inner := c.nested(via, argv, nil)
	inner.Stdin = stdin
	inner.From = from(c.From, c.Stdin.From)
	after := c.state.clone()
	out := c.in.call(inner, after)
	c.state.keepFiles(after)
	return out
}

func (c *Call) nested(via string, argv []Field, env map[string]string) *Call {
	via2 := slices.Concat(c.Via, []string{via})
	return &Call{Place: c.Place, Argv: argv, Env: env, Stdin: c.Stdin, Via: via2, From: c.From, in: c.in, raw: c.raw}
}

// Code interprets text as a program of a new shell with the given parameters ($0 first).
func (c *Call) Code(text string, params []string) Stream {
	return c.in.child(c.state, &c.Place, func(child *state) Stream {
		child.exported()
		child.funcs = nil
		for name, value := range c.Env {
			child.set(name, value, c.From)
			child.exports = put(child.exports, name, true)
		}
		if len(params) > 0 {
			child.params = params
		}
		return c.in.code(&c.Place, text, c.From, child, c.Stdin)
	})
}

// Feed is like Code, for a program that gets other input than the command.
func (c *Call) Feed(text string, stdin Stream) {
	c.in.child(c.state, &c.Place, func(child *state) Stream { return c.in.code(&c.Place, text, c.From, child, stdin) })
}

// Written returns what earlier commands of the same text wrote into a file, if any did.
func (c *Call) Written(path string) (Stream, bool) {
	s, ok := c.state.files[c.state.abs(path)]
	return s, ok
}

// Write records that the command writes a file.
func (c *Call) Write(path string, content Stream) { c.state.write(path, content) }
