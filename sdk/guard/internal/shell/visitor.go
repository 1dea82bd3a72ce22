package shell

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// Visitor is told what the interpreted text would do.
type Visitor interface {
	// Call is a simple command, neither a function nor an alias; or assignments alone, or the environment that all of it
	// starts with, then Argv is empty. It may interpret what the command would run in turn through the methods of [Call].
	Call(*Call)

	// Open is a path that the shell itself opens, lists or enters.
	Open(*Place, Use, Field)

	// Settled says whether nothing that is told from now on matters.
	Settled() bool

	// Missing says whether a directory is known not to exist.
	Missing(dir string) bool

	// Directory says whether a path is known to be a directory.
	Directory(path string) bool

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
	Span   Span
}

// Span is a part of the text, from byte Start up to End; Line and Column of Start count from 1.
type Span struct{ Start, End, Line, Column int }

// Place is where in the text, and in which directory, something happens.
type Place struct {
	Span Span
	Dir  string // the working directory; "" if it isn't known

	// Doubt is the working directory in the case that Dir doesn't exist, so that to enter it fails; "" if that can't be.
	Doubt string
}

// Call is a simple command that would run. It must not be kept: another command may reuse it.
type Call struct {
	Place
	Argv  []Field
	Env   map[string]string // assigned in front of the command
	Stdin Stream
	Via   []string // the commands that start this one, outermost first

	Later bool // it runs when the shell ends, or at a signal: variables that aren't set may be set by then

	Output Stream // what it prints, as far as the visitor knows; the shell's own commands fill it themselves

	in    *Interpreter
	state *state
	node  syntax.Node // that it stands in, of the text source
	text  string
	texts []string

	derived   *Stream // what Derived said, and for which name
	derivedBy string
}

// Texts returns the texts of Argv, which must not be changed.
func (c *Call) Texts() []string {
	if len(c.texts) != len(c.Argv) {
		c.texts = c.texts[:0]
		if c.in != nil {
			c.texts = c.in.texts.list(len(c.Argv))
		}
		for _, f := range c.Argv {
			c.texts = append(c.texts, f.Text)
		}
	}
	return c.texts
}

// Source returns the command as it stands in the text.
func (c *Call) Source() string { return within(c.text, c.node) }

// Words returns the words of the command that this one stands in, as they stand in the text: those of what starts it come first.
func (c *Call) Words() []string {
	node := c.node
	if stmt, ok := node.(*syntax.Stmt); ok {
		node = stmt.Cmd
	}
	simple, ok := node.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	words := make([]string, len(simple.Args))
	for i, word := range simple.Args {
		words[i] = within(c.text, word)
	}
	return words
}

// Substitutes says whether a text would run commands where the shell expands it.
func (c *Call) Substitutes(text string) bool { return c.in.substitutes(text) }

// Lookup returns the value of a shell variable, if it is known.
func (c *Call) Lookup(name string) (string, bool) {
	v := c.state.Get(name)
	return v.String(), v.IsSet() && !HasUnknown(v.String())
}

// Exec interprets a command that this one starts, in the same shell and directory.
func (c *Call) Exec(via string, argv []Field, env map[string]string) Stream {
	inner := c.nested(via, argv, env)
	defer c.in.commands.put(inner)
	return c.in.call(inner, c.state)
}

// In is the command where it has changed to another directory by itself: if there is no such directory, it does nothing. What it
// does there is kept by [Call.Keep].
func (c *Call) In(dir string) *Call {
	at := *c
	at.state = c.state.clone()
	at.state.step(dir)
	at.Dir, at.Doubt = at.state.dir, at.state.doubt
	return &at
}

// Keep takes over what the command did in another directory.
func (c *Call) Keep(at *Call) {
	c.Output = at.Output
	c.state.keepFiles([]*state{at.state})
}

// Pipe is like Exec, for a command that gets other input than this one.
func (c *Call) Pipe(via string, argv []Field, stdin Stream) Stream {
	inner := c.nested(via, argv, nil)
	defer c.in.commands.put(inner)
	inner.Stdin = stdin
	after := c.state.clone()
	out := c.in.call(inner, after)
	c.state.keepFiles([]*state{after})
	return out
}

func (c *Call) nested(via string, argv []Field, env map[string]string) *Call {
	inner := c.in.commands.get()
	*inner = Call{Place: c.Place, Argv: argv, Env: env, Stdin: c.Stdin, Via: append(c.Via[:len(c.Via):len(c.Via)], via), in: c.in, node: c.node, text: c.text}
	return inner
}

// Code interprets text as a program of a new shell with the given parameters ($0 first).
func (c *Call) Code(text string, params []string) Stream {
	return c.start(text, params, c.Stdin, false)
}

// File is like Code, for a file of which $0 is the name.
func (c *Call) File(text string, params []string) Stream { return c.start(text, params, c.Stdin, true) }

// Feed is like Code, for a program that gets other input than the command.
func (c *Call) Feed(text string, stdin Stream) { c.start(text, nil, stdin, false) }

// Writings are those files that earlier commands of the same text wrote and whose names are to be kept, sorted.
func (c *Call) Writings(keep func(name string) bool) []string { return c.state.files.keys(c.in, keep) }

// Wrote says whether earlier commands of the same text wrote files.
func (c *Call) Wrote() bool { return c.state.files != nil }

var surroundingsSeed = maphash.MakeSeed()

// Surroundings is a number for all that a program finds where this command runs, its arguments apart: another one if its directory,
// its input, a variable or a file is another.
func (c *Call) Surroundings() uint64 {
	var h maphash.Hash
	h.SetSeed(surroundingsSeed)
	note := func(texts ...string) {
		for _, text := range texts {
			c.in.work += len(text) / perWord
			_, _ = h.WriteString(text)
			_ = h.WriteByte(0)
		}
	}
	defer func(recording int) { c.in.recording = recording }(c.in.recording)
	c.in.recording = 0 // it is only compared with others of the same way
	note(c.Dir, c.Doubt, c.Stdin.Text, c.Stdin.File)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		note(name, c.Env[name])
	}
	any := func(string) bool { return true }
	for _, name := range c.state.vars.keys(c.in, any) {
		value, _ := c.state.vars.get(c.in, name)
		note(name, value.String())
	}
	for _, name := range c.state.files.keys(c.in, any) {
		content, _ := c.state.files.get(c.in, name)
		note(name, content.Text)
	}
	for name, body := range c.state.funcs.all(c.in) {
		note(name, fmt.Sprintf("%p", body))
	}
	for name, body := range c.state.outer.all(c.in) {
		note(name, fmt.Sprintf("%p", body))
	}
	note(c.state.exported.keys(c.in, any)...)
	return h.Sum64()
}

// Abs is the absolute form of a path where the command runs.
func (c *Call) Abs(path string) string { return c.state.abs(path) }

// Write records that the command writes a file.
func (c *Call) Write(path string, content Stream) { c.state.write(path, content) }
