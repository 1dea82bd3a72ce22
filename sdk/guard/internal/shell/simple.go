package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// simple follows a simple command: assignments, arguments, redirections, then the command itself.
func (in *Interpreter) simple(s *syntax.Stmt, c *syntax.CallExpr, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if st.input != nil {
		stdin = *st.input
	}
	x := in.expansion(st, place)
	defer in.expansions.put(x)
	argv := x.fields(c.Args)
	env := map[string]string(nil)
	if len(c.Args) == 0 {
		in.assignments(c.Assigns, st, x)
	} else if len(c.Assigns) > 0 {
		env = make(map[string]string, len(c.Assigns))
		for _, a := range c.Assigns {
			if a.Name != nil {
				env[a.Name.Value] = x.assigned(a.Value)
			}
		}
	}
	r := redirections{stdin: stdin}
	in.redirects(&r, s.Redirs, st, place)
	if len(argv) == 0 {
		out := text("")
		switch {
		case len(c.Args) > 0:
			in.problem(place, Dynamic, "the command word expands to nothing")
		case len(c.Assigns) > 0 && within(in.source, s) != "":
			call, env := in.commands.get(), in.assigned(c.Assigns, st)
			*call = Call{Place: *place, Env: env, in: in, state: st, node: s, text: in.source}
			in.visitor.Call(call)
			in.commands.put(call)
			clear(env)
			in.sets = append(in.sets, env)
		}
		return st.alone(), r.output(st.alone(), out)
	}
	if execs(argv) {
		r.exec(st)
		return st.alone(), text("")
	}
	input, printer, drained := st.input, st.printer, st.drained
	var before []descriptor
	if len(r.opens) > 0 && (len(r.opens) > 1 || r.opens[0].path != "/dev/fd/2" || in.runsHere(argv[0].Text, st) || r.tellsErrors(argv)) {
		before = r.enter(st)
	}
	if in.runsHere(argv[0].Text, st) || argv[0].Text == "read" {
		r.fills(st)
	}
	if r.fed {
		st.input, st.drained = nil, false
	}
	if r.moved || r.back {
		st.printer = nil
	}
	call := in.commands.get()
	*call = Call{Place: *place, Argv: argv, Env: env, Stdin: r.stdin, in: in, node: s, text: in.source}
	out := in.call(call, st)
	in.commands.put(call)
	if !out.Known && out.From.None() {
		out.From = in.origin(From(Name(argv[0].Text)), x.from)
	}
	if r.fed {
		st.input, st.drained = input, drained
	}
	leave(st.alone(), before)
	if r.moved || r.back {
		st.printer = printer
	} else {
		out = st.printed(out)
	}
	return st.alone(), r.output(st.alone(), out)
}

// runsHere says whether a command is code that the shell runs itself.
func (in *Interpreter) runsHere(word string, st *state) bool {
	_, function := st.funcs.get(in, word)
	return function || word == "eval" || word == "." || word == "source"
}

// tellsErrors says whether the code that a command gets may print where the errors go.
func (r *redirections) tellsErrors(argv []Field) bool {
	tells := func(text string) bool { return strings.Contains(text, ">&") || strings.Contains(text, "/dev/") }
	return tells(r.stdin.Text) || slices.ContainsFunc(argv, func(f Field) bool { return tells(f.Text) })
}

// execs says whether a command is exec without one to start: its redirections are for all that follows.
func execs(argv []Field) bool {
	if argv[0].Text == "command" || argv[0].Text == "builtin" {
		argv = argv[1:]
	}
	return len(argv) > 0 && argv[0].Text == "exec" && (len(argv) == 1 || len(argv) == 2 && argv[1].Text == "--")
}

// assigned is what the assignments of a command without words have set.
func (in *Interpreter) assigned(list []*syntax.Assign, st *state) map[string]string {
	var env map[string]string
	if n := len(in.sets); n > 0 {
		env, in.sets = in.sets[n-1], in.sets[:n-1]
	} else {
		env = make(map[string]string, len(list))
	}
	for _, a := range list {
		if a.Name != nil {
			env[a.Name.Value] = told(st.Get(a.Name.Value), a.Name.Value)
		}
	}
	return env
}

// told is what a variable gives to those who read it: its first element, but for that of which bash runs each.
func told(v expand.Variable, name string) string {
	if name == "PROMPT_COMMAND" && v.Kind == expand.Indexed {
		return strings.Join(v.List, "\n")
	}
	return v.String()
}

// assignments sets the variables of a command without words, or of a declaration.
func (in *Interpreter) assignments(list []*syntax.Assign, st *state, x *expansion) {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		name := a.Name.Value
		if name == "BASH_ALIASES" || name == "BASH_CMDS" {
			in.aliasesIn(a, st, x)
		}
		switch {
		case a.Naked:
		case a.Array != nil:
			in.array(a, st, x)
		case a.Index != nil:
			to := arrayOf(st.Get(name))
			x.element(to, a.Index, x.assigned(a.Value), a.Append)
			st.setArray(name, to)
		case a.Append:
			before := st.Get(name)
			if before.Kind == expand.Indexed {
				to := arrayOf(before)
				to.put(0, x.assigned(a.Value), true)
				st.setArray(name, to)
				continue
			}
			st.set(name, before.String()+x.assigned(a.Value))
		default:
			value := x.assigned(a.Value)
			if integers[name] || has(in, st.integers, name) {
				in.evaluated(x.place, st, value, 0)
			}
			st.set(name, value)
		}
	}
}

// aliasesIn follows an assignment to the arrays in which bash keeps aliases, and where it has found commands: both name what a word starts.
func (in *Interpreter) aliasesIn(a *syntax.Assign, st *state, x *expansion) {
	define := func(index syntax.ArithmExpr, word *syntax.Word) {
		value := x.assigned(word)
		if key, ok := index.(*syntax.Word); ok {
			set(in, &st.aliases, x.one(key), value)
		}
		in.code(x.place, value, st.clone(), Stream{}) // whatever its name is
	}
	switch {
	case a.Index != nil:
		define(a.Index, a.Value)
	case a.Array != nil:
		for _, elem := range a.Array.Elems {
			if elem.Value != nil {
				define(elem.Index, elem.Value)
			}
		}
	}
}

// declare follows export, declare, local, readonly and typeset. Of functions it prints what they are.
func (in *Interpreter) declare(c *syntax.DeclClause, st *state, stdin Stream, place *Place, s *syntax.Stmt) Stream {
	out := text("")
	x := in.expansion(st, place)
	if c.Variant.Value == "local" && len(in.calls) == 0 { // it fails outside of functions, but sets arrays
		in.assignments(slices.DeleteFunc(slices.Clone(c.Args), func(a *syntax.Assign) bool { return a.Array == nil }), st, x)
		st = st.clone()
		x = in.expansion(st, place)
	}
	reference, integer, associative, array, global, functions := c.Variant.Value == "nameref", false, false, false, false, false
	readonly, exported, kept, plain := c.Variant.Value == "readonly", c.Variant.Value == "export", false, false
	call := &Call{Place: *place, Argv: []Field{{Text: c.Variant.Value}}, Env: map[string]string{}, Stdin: stdin, in: in, state: st, node: s, text: in.source}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Name == nil {
			// An option, or a word such as "$name=value", which sets something that isn't known.
			for _, f := range x.fields([]*syntax.Word{a.Value}) {
				call.Argv = append(call.Argv, f)
				plain = plain || strings.HasPrefix(f.Text, "+") && strings.Contains(f.Text, "i")
				if strings.HasPrefix(f.Text, "-") {
					reference, integer = reference || strings.Contains(f.Text, "n"), integer || strings.Contains(f.Text, "i")
					array, global, functions = array || strings.ContainsAny(f.Text, "aA"), global || strings.Contains(f.Text, "g"), functions || strings.Contains(f.Text, "f")
					associative, readonly = associative || strings.Contains(f.Text, "A"), readonly || strings.Contains(f.Text, "r")
					exported = exported || strings.Contains(f.Text, "x")
					kept = kept || c.Variant.Value == "export" && strings.Contains(f.Text, "n")
				} else {
					in.declared(place, st, f.Text, integer, reference)
					kept = kept || strings.HasPrefix(f.Text, "+") && strings.Contains(f.Text, "x")
				}
				if name, value, ok := strings.Cut(f.Text, "="); ok && syntax.ValidName(name) {
					st.set(name, value)
					st.compound(name, value, array)
					st.export(name)
					call.Env[name] = value
				}
			}
			continue
		}
		if functions {
			if readonly && a.Naked && !st.redefines(c.Variant.Value) {
				set(in, &st.readonly, a.Name.Value+"()", true)
			} else if body, ok := st.funcs.get(in, a.Name.Value); ok && c.Variant.Value != "export" {
				out = out.then(text(in.printed(a.Name.Value, body)))
			}
			continue
		}
		if global {
			st.mayShow(a.Name.Value, true)
		} else if len(in.calls) > 0 && c.Variant.Value != "export" && c.Variant.Value != "readonly" {
			if a.Naked {
				st.declareLocal(a.Name.Value)
			} else {
				st.shadow(a.Name.Value)
			}
		}
		if associative {
			st.associative(a.Name.Value)
		}
		if integer {
			set(in, &st.integers, a.Name.Value, true)
		} else if plain {
			st.mayCompute(a.Name.Value)
		}
		in.assignments([]*syntax.Assign{a}, st, x)
		if a.Value != nil && braces(a.Value) > 0 {
			st.set(a.Name.Value, Unknown) // a word with braces is several, unlike that of an assignment by itself
		}
		if a.Array == nil && !a.Naked {
			v := st.Get(a.Name.Value)
			st.compound(a.Name.Value, v.String()+v.Map["0"], array)
		}
		if integer || reference {
			in.declared(place, st, a.Name.Value+"="+st.Get(a.Name.Value).String(), integer, reference)
		}
		if reference {
			set(in, &st.vars, a.Name.Value, expand.Variable{Set: true, Kind: expand.String, Str: Unknown}) // another name of a variable that may change
		}
		if kept {
			st.unexport(a.Name.Value)
		} else if exported {
			st.export(a.Name.Value)
		}
		if readonly {
			set(in, &st.readonly, a.Name.Value, true)
		}
		if !a.Naked {
			call.Env[a.Name.Value] = told(st.Get(a.Name.Value), a.Name.Value)
		}
		call.Argv = append(call.Argv, Field{Text: a.Name.Value})
	}
	in.visitor.Call(call)
	return out
}

// call follows one simple command with its arguments.
func (in *Interpreter) call(c *Call, st *state) Stream {
	c.state, c.Later = st, in.later > 0
	in.work += len(c.Argv) * perWord
	if len(c.Argv) == 0 || !in.step(&c.Place) {
		return Stream{}
	}
	if rest, ok := strings.CutPrefix(c.Argv[0].Text, Unset+"/"); ok && !HasUnknown(rest) {
		// In a directory that the environment names, or else at the root.
		c.Argv = append([]Field{{Text: "/" + rest}}, c.Argv[1:]...)
	}
	word := c.Argv[0]
	if HasUnknown(word.Text) || word.Glob {
		in.problem(&c.Place, Dynamic, "which program runs is only known when it runs")
		return Stream{}
	}
	if word.Text == "bash" {
		in.shopt(c.Texts())
	}
	program := len(c.Via) > 0 // what a command starts is no alias and no function
	if value, ok := st.aliases.get(in, word.Text); ok && !program {
		in.alias(c, value, st) // bash expands none in scripts, and other shells do
	}
	if program {
		return in.program(c, st)
	}
	var others []Stream
	if body, ok := st.outer.get(in, word.Text); ok {
		for _, body := range in.bodies(body) {
			others = append(others, in.functionCall(word.Text, body, st.clone(), c)) // it may be there or not
		}
	}
	var out Stream
	if body, ok := st.funcs.get(in, word.Text); ok {
		out = in.functionCall(word.Text, body, st, c)
	} else {
		out = in.program(c, st)
	}
	for _, other := range others {
		out = out.or(other)
	}
	return out
}

// program follows a command that is neither a function nor an alias.
func (in *Interpreter) program(c *Call, st *state) Stream {
	word := c.Argv[0]
	if len(c.Via) > MaxNesting {
		in.problem(&c.Place, TooComplex, "commands that start commands, too deep to follow")
		return Stream{}
	}
	if len(c.Env) > 0 {
		in.keepsAssigned(c, st)
	}
	if out, ok := in.builtin(c, st); ok {
		return out
	}
	in.makes(c)
	in.visitor.Call(c)
	if !readsNothing[word.Text] {
		st.drain()
	}
	if asks := len(c.Argv) == 3 && word.Text == "command" && c.Argv[1].Text == "-v"; !asks && (c.Output.Known || c.Output.Piped) {
		return c.Output
	}
	return output(c)
}

// alias follows the command that an alias stands for. Bash expands aliases only when told so; the guard doesn't
// rely on that.
func (in *Interpreter) alias(c *Call, value string, st *state) Stream {
	var line strings.Builder
	line.WriteString(value)
	rest := c.Argv[1:]
	for last := value; len(rest) > 0 && strings.HasSuffix(last, " "); rest = rest[1:] {
		next, ok := st.aliases.get(in, rest[0].Text)
		if !ok {
			break
		}
		line.WriteString(next) // the word behind an alias that ends in a blank is one as well
		last = next
	}
	for _, arg := range rest {
		quoted, err := syntax.Quote(arg.Text, syntax.LangBash)
		if err != nil {
			quoted = "''"
		}
		line.WriteString(" " + quoted)
	}
	inner := st.clone()
	unset(in, &inner.aliases, c.Argv[0].Text)
	_, out := in.code(&c.Place, line.String(), inner, c.Stdin)
	return out
}

// Name is the name that a program is known by: without its directory and Windows' endings, in lower case.
func Name(word string) string {
	if isName(word) {
		return word
	}
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".com", ".cmd", ".bat"} {
		if trimmed := strings.TrimSuffix(name, ending); trimmed != "" {
			name = trimmed
		}
	}
	return name
}

// isName says whether a word is the name of a program as it stands.
func isName(word string) bool {
	for i := 0; i < len(word); i++ {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return word != ""
}
