package shell

import "slices"

// Visitor receives the commands, paths and problems of an interpreted text.
type Visitor interface {
	// VisitCommand receives a simple command, or assignments alone with an empty Argv. It may interpret code and
	// commands that the command starts, through methods of [SimpleCommand]. Function calls are not reported.
	VisitCommand(*SimpleCommand)

	// VisitPath receives a path that the shell itself opens, lists or enters.
	VisitPath(*CommandLocation, PathUse, Argument)

	// VisitProblem receives a problem that makes the rest of the analysis unreliable.
	VisitProblem(*CommandLocation, AnalysisProblem)
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

// AnalysisProblemKind is the reason that a text can't be interpreted. It is the suffix of the guard's rule id: "exec."
// + kind.
type AnalysisProblemKind string

// Reasons that a text can't be interpreted.
const (
	Malformed  AnalysisProblemKind = "malformed"   // characters that a command can't contain
	TooLong    AnalysisProblemKind = "too-long"    // longer than MaxText
	TooComplex AnalysisProblemKind = "too-complex" // beyond another limit
	Syntax     AnalysisProblemKind = "syntax"      // not a program of the dialect
	Dynamic    AnalysisProblemKind = "dynamic"     // the command word, or code, is only known at run time
	ForkBomb   AnalysisProblemKind = "fork-bomb"   // a function that multiplies without end
	Network    AnalysisProblemKind = "network"     // bash's /dev/tcp and /dev/udp
)

// AnalysisProblem is a part of the text that can't be interpreted.
type AnalysisProblem struct {
	Kind     AnalysisProblemKind
	Reason   string
	From     []string         // of Dynamic: commands that print the unknown part
	Location *CommandLocation // set by [CheckCommandText]
}

// SimpleCommand is a simple command that the text would run.
type SimpleCommand struct {
	CommandLocation
	Argv  []Argument
	Env   map[string]string // assignments before the command
	Stdin StreamContent
	Via   []string // commands that start this one, outermost first
	From  []string // commands that print the unknown parts of the words

	Output StreamContent // output that the visitor or a builtin sets, if known

	SourceText string

	in    *Interpreter
	state *shellState
}

// WithUnknownDir returns a copy of the command whose working directory is unknown.
func (c *SimpleCommand) WithUnknownDir() *SimpleCommand {
	moved := *c
	moved.Dir = ""
	moved.state = c.state.cloneState()
	moved.state.dir = ""
	return &moved
}

// LookupVar returns the value of a shell variable and whether it is known.
func (c *SimpleCommand) LookupVar(name string) (string, bool) {
	v := c.state.Get(name)
	return v.String(), v.IsSet() && !HasUnknown(v.String())
}

// InterpretStartedCommand interprets a command that c starts, and returns its output. dir is the working directory; ""
// means that of c.
func (c *SimpleCommand) InterpretStartedCommand(via string, argv []Argument, env map[string]string, dir string) StreamContent {
	state := c.state
	if dir != "" {
		state = state.cloneState()
		state.dir = dir
	}
	return c.in.interpretExpandedCommand(c.newStartedCommand(via, argv, env), state)
}

// InterpretStartedCommandWithStdin interprets a command that c starts with other standard input. Only files that it writes
// remain in the state.
func (c *SimpleCommand) InterpretStartedCommandWithStdin(via string, argv []Argument, stdin StreamContent) StreamContent {
	inner := c.newStartedCommand(via, argv, nil)
	inner.Stdin = stdin
	inner.From = mergeCommandNames(c.From, c.Stdin.From)
	after := c.state.cloneState()
	out := c.in.interpretExpandedCommand(inner, after)
	c.state.mergeWrittenFiles(after)
	return out
}

// newStartedCommand returns a command that c starts. via is the name of c.
func (c *SimpleCommand) newStartedCommand(via string, argv []Argument, env map[string]string) *SimpleCommand {
	via2 := slices.Concat(c.Via, []string{via})
	return &SimpleCommand{CommandLocation: c.CommandLocation, Argv: argv, Env: env, Stdin: c.Stdin, Via: via2, From: c.From, in: c.in, SourceText: c.SourceText}
}

// InterpretCode interprets code in a new shell with positional parameters ($0 first).
func (c *SimpleCommand) InterpretCode(text string, params []string) StreamContent {
	return c.in.interpretSubshell(c.state, &c.CommandLocation, func(child *shellState) StreamContent {
		child.dropUnexportedVars()
		child.funcs = nil
		for name, value := range c.Env {
			child.setVar(name, value, c.From)
			child.exports = setMapEntry(child.exports, name, true)
		}
		if len(params) > 0 {
			child.params = params
		}
		return c.in.interpretCode(&c.CommandLocation, text, c.From, child, c.Stdin)
	})
}

// InterpretCodeWithStdin interprets code in a subshell with other standard input.
func (c *SimpleCommand) InterpretCodeWithStdin(text string, stdin StreamContent) {
	c.in.interpretSubshell(c.state, &c.CommandLocation, func(child *shellState) StreamContent {
		return c.in.interpretCode(&c.CommandLocation, text, c.From, child, stdin)
	})
}

// FindWrittenContent returns the content that earlier commands wrote to a file, and whether one did.
func (c *SimpleCommand) FindWrittenContent(path string) (StreamContent, bool) {
	s, ok := c.state.files[c.state.absPath(path)]
	return s, ok
}

// RecordFileWrite records the content that the command writes to a file.
func (c *SimpleCommand) RecordFileWrite(path string, content StreamContent) {
	c.state.recordFileContent(path, content)
}
