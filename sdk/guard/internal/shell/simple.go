package shell

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// interpretSimpleCommand interprets a simple command: assignments, arguments and redirections, then the command.
func (in *Interpreter) interpretSimpleCommand(s *syntax.Stmt, c *syntax.CallExpr, st *shellState, stdin StreamContent, place *CommandLocation) StreamContent {
	x := in.newWordExpander(st, place)
	argv := x.expandArguments(c.Args)
	env := map[string]string(nil)
	if len(c.Args) == 0 {
		in.applyAssignments(c.Assigns, st, x)
	} else if len(c.Assigns) > 0 {
		env = make(map[string]string, len(c.Assigns))
		for _, a := range c.Assigns {
			if a.Name != nil {
				env[a.Name.Value] = x.expandAssignedValue(a.Value)
			}
		}
	}
	r := in.applyRedirects(s.Redirs, st, stdin, place)
	if len(argv) == 0 {
		out := knownStream("")
		switch {
		case len(c.Args) > 0:
			in.visitor.VisitProblem(place, AnalysisProblem{Kind: Dynamic, Reason: "the command word expands to nothing", From: x.unknownFrom})
		case len(c.Assigns) > 0 && in.nodeText(s) != "":
			in.visitor.VisitCommand(&SimpleCommand{CommandLocation: *place, Env: assignedValues(c.Assigns, st), in: in, state: st, SourceText: in.nodeText(s)})
		}
		return r.routeOutput(st, out)
	}
	call := &SimpleCommand{CommandLocation: *place, Argv: argv, Env: env, Stdin: r.stdin, From: x.unknownFrom, in: in, SourceText: in.nodeText(s)}
	out := in.interpretExpandedCommand(call, st)
	if !out.Known && len(out.From) == 0 {
		out.From = append([]string{ProgramName(argv[0].Text)}, x.unknownFrom...)
	}
	return r.routeOutput(st, out)
}

// assignedValues returns the current values of the variables that a list assigns.
func assignedValues(list []*syntax.Assign, st *shellState) map[string]string {
	env := make(map[string]string, len(list))
	for _, a := range list {
		if a.Name != nil {
			env[a.Name.Value] = st.Get(a.Name.Value).String()
		}
	}
	return env
}

// applyAssignments sets variables in the shell state.
func (in *Interpreter) applyAssignments(list []*syntax.Assign, st *shellState, x *wordExpander) {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		name := a.Name.Value
		switch {
		case a.Naked:
		case a.Array != nil:
			in.assignArray(a, st, x)
		case a.Index != nil:
			x.interpretArithmetic(a.Index)
			x.expandAssignedValue(a.Value)
			st.setListVar(name, []string{Unknown})
		case a.Append:
			before := st.Get(name)
			if before.Kind == expand.Indexed {
				st.setListVar(name, []string{Unknown})
				continue
			}
			value := x.expandAssignedValue(a.Value)
			st.setVar(name, before.String()+value, mergeCommandNames(st.unknownFrom[name], x.unknownFrom))
		default:
			value := x.expandAssignedValue(a.Value)
			st.setVar(name, value, x.unknownFrom)
		}
	}
}

func (in *Interpreter) assignArray(a *syntax.Assign, st *shellState, x *wordExpander) {
	var list []string
	if a.Append {
		list = append(list, st.Get(a.Name.Value).List...)
	}
	for _, elem := range a.Array.Elems {
		if elem.Index != nil {
			x.interpretArithmetic(elem.Index)
			x.expandAssignedValue(elem.Value)
			list = []string{Unknown}
			break
		}
		list = append(list, ArgumentTexts(x.expandArguments([]*syntax.Word{elem.Value}))...)
	}
	st.setListVar(a.Name.Value, list)
}

// interpretDeclaration interprets export, declare, local, readonly or typeset.
func (in *Interpreter) interpretDeclaration(c *syntax.DeclClause, st *shellState, stdin StreamContent, place *CommandLocation, raw string) {
	x := in.newWordExpander(st, place)
	isReference := c.Variant.Value == "nameref"
	call := &SimpleCommand{CommandLocation: *place, Argv: []Argument{{Text: c.Variant.Value}}, Env: map[string]string{}, Stdin: stdin, in: in,
		state: st, SourceText: raw}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Name == nil {
			// An option, or a word such as "$name=value", which sets something that isn't known.
			for _, f := range x.expandArguments([]*syntax.Word{a.Value}) {
				call.Argv = append(call.Argv, f)
				isReference = isReference || strings.HasPrefix(f.Text, "-") && strings.Contains(f.Text, "n")
				if name, value, ok := strings.Cut(f.Text, "="); ok && syntax.ValidName(name) {
					st.setVar(name, value, x.unknownFrom)
					call.Env[name] = value
				}
			}
			continue
		}
		if len(in.callStack) > 0 && c.Variant.Value != "export" && c.Variant.Value != "readonly" {
			st.locals = append(st.locals[:len(st.locals):len(st.locals)], a.Name.Value)
		}
		in.applyAssignments([]*syntax.Assign{a}, st, x)
		if c.Variant.Value == "export" {
			st.unshareMaps()
			st.exports = setMapEntry(st.exports, a.Name.Value, true)
		}
		if isReference {
			st.setVar(a.Name.Value, Unknown, nil) // another name of a variable that may change
		}
		if !a.Naked {
			call.Env[a.Name.Value] = st.Get(a.Name.Value).String()
		}
		call.Argv = append(call.Argv, Argument{Text: a.Name.Value})
	}
	for _, f := range call.Argv[1:] {
		if strings.Contains(f.Text, "[") {
			in.interpretNestedSubstitutions(place, f.Text, st)
		}
	}
	in.visitor.VisitCommand(call)
}

// interpretExpandedCommand interprets a simple command whose arguments are expanded: a function, a builtin or a program.
func (in *Interpreter) interpretExpandedCommand(c *SimpleCommand, st *shellState) StreamContent {
	c.state = st
	if len(c.Argv) == 0 || !in.countStep(&c.CommandLocation) {
		return StreamContent{}
	}
	word := c.Argv[0]
	if HasUnknown(word.Text) || word.Glob {
		in.visitor.VisitProblem(&c.CommandLocation, AnalysisProblem{Kind: Dynamic, Reason: "which program runs is only known when it runs",
			From: c.From})
		in.visitor.VisitCommand(c)
		return unknownStream("a command")
	}
	isStarted := len(c.Via) > 0 // what a command starts is no function
	if body, ok := st.funcs[word.Text]; ok && !isStarted {
		inner := st.cloneState()
		inner.params = append([]string{"bash"}, ArgumentTexts(c.Argv[1:])...)
		for name, value := range c.Env {
			inner.setVar(name, value, c.From)
		}
		return in.interpretFunctionCall(word.Text, body, inner, st, c)
	}
	if len(c.Via) > maxCommandChain {
		in.reportProblem(&c.CommandLocation, TooComplex, "commands that start commands, too deep to follow")
		return StreamContent{}
	}
	if out, ok := in.interpretBuiltin(c, st); ok {
		return out
	}
	in.visitor.VisitCommand(c)
	if c.Output.Known || c.Output.Piped {
		return c.Output
	}
	return predictOutput(c)
}

// interpretFunctionCall interprets a function call and applies its changes to the state.
func (in *Interpreter) interpretFunctionCall(name string, body *syntax.Stmt, inner, st *shellState, c *SimpleCommand) StreamContent {
	inner.locals = nil
	out := in.interpretFunction(name, body, inner, c.Stdin)
	outer := st.cloneState()
	*st = *inner
	st.unshareMaps()
	for _, name := range slices.AppendSeq(inner.locals, maps.Keys(c.Env)) {
		if v, ok := outer.vars[name]; ok {
			st.vars = setMapEntry(st.vars, name, v)
		} else {
			delete(st.vars, name)
		}
	}
	st.params, st.locals, st.isDead = outer.params, outer.locals, false
	return out
}

// interpretFunction interprets a function body, unless the function is already running. A function that calls itself in
// parallel is a fork bomb.
func (in *Interpreter) interpretFunction(name string, body *syntax.Stmt, st *shellState, stdin StreamContent) StreamContent {
	for _, f := range in.callStack {
		if f.name == name {
			if in.parallelDepth > f.parallelDepth {
				in.reportProblem(in.nodeLocation(body, st), ForkBomb, "the function "+name+" starts itself in parallel without end")
			}
			return unknownStream(name)
		}
	}
	in.interpreted = setMapEntry(in.interpreted, body, true)
	in.callStack = append(in.callStack, functionFrame{name: name, parallelDepth: in.parallelDepth})
	defer func() { in.callStack = in.callStack[:len(in.callStack)-1] }()
	return in.interpretStmt(body, st, stdin)
}

// ProgramName returns the name of a program in lower case, without directory and Windows extension.
func ProgramName(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".com", ".cmd", ".bat"} {
		if trimmed := strings.TrimSuffix(name, ending); trimmed != "" {
			name = trimmed
		}
	}
	return name
}
