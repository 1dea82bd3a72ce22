package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// special are the builtins that POSIX calls so: what is assigned in front of them stays.
var special = map[string]bool{":": true, ".": true, "source": true, "eval": true, "exec": true, "export": true, "readonly": true, "set": true, "shift": true, "trap": true, "unset": true, "times": true, "return": true, "exit": true, "break": true, "continue": true}

// keepsAssigned takes over what is assigned in front of a builtin, if that may stay: of bash's own, what export and readonly name, and
// what declare may.
func (in *Interpreter) keepsAssigned(c *Call, st *state) {
	word := c.Argv[0].Text
	names := word == "export" || word == "readonly"
	declares := word == "declare" || word == "typeset"
	for name, value := range c.Env {
		named := slices.ContainsFunc(c.Argv[1:], func(f Field) bool { return f.Text == name || HasUnknown(f.Text) })
		switch {
		case names && c.Argv[len(c.Argv)-1].Text == name:
			st.set(name, value)
		case (names || declares) && named, special[word] && in.mayBeOther(): // code for a shell of another kind, perhaps
			st.either(name, st.Get(name), expand.Variable{Set: true, Kind: expand.String, Str: value})
		}
	}
}

// builtin follows a command that changes the shell itself. The second result says whether it was one.
// A few also go to the visitor, because rules may concern them.
func (in *Interpreter) builtin(c *Call, st *state) (Stream, bool) {
	args := c.Texts()[1:]
	none := text("")
	switch c.Argv[0].Text {
	case "cd", "chdir":
		in.cd(c, st, args)
		return none, true
	case "pushd":
		in.pushd(c, st, args)
		return none, true
	case "popd":
		if n := len(st.stack); n > 0 {
			st.leave(st.dir)
			st.dir, st.stack = st.stack[n-1], st.stack[:n-1:n-1]
		}
		return none, true
	case "eval":
		inner, before := st.clone(), st.clone()
		for name, value := range c.Env {
			inner.set(name, value)
		}
		states, out := in.code(&c.Place, strings.Join(args, " "), inner, c.Stdin)
		st.become(blur(states))
		for name := range c.Env {
			st.restore(name, before)
		}
		return out, true
	case "trap":
		if operands := skipOptions(args); len(operands) > 1 && operands[0] != "-" && operands[0] != "" {
			st.trap += operands[0] + "\n"
			st.trapped = nil
			in.interrupts(c, st, operands[0], operands[1:])
		}
		return none, true
	case "alias":
		for _, arg := range args {
			if name, value, ok := strings.Cut(arg, "="); ok {
				set(in, &st.aliases, name, value)
				in.code(&c.Place, value, st.clone(), Stream{})
			}
		}
		return none, true
	case "unalias":
		return none, true
	case "read", "mapfile", "readarray":
		in.read(c, st, args)
		return none, true
	case "set":
		in.setOptions(&c.Place, args)
		in.set(st, c.Argv[1:])
		return none, true
	case "shift":
		in.shift(st, args)
		return none, true
	case "unset":
		in.named(&c.Place, args...)
		for _, name := range skipOptions(args) {
			if strings.Contains(name, "[") {
				st.set(name, Unknown)
				continue
			}
			switch kept := has(in, st.readonly, name); {
			case slices.Contains(args, "-f"):
			case kept:
				st.set(name, Unknown) // it fails, if readonly is the shell's own
			default:
				st.mayShow(name, false)
				st.mayCompute(name)
				st.unset(name)
			}
			if !slices.Contains(args, "-v") && !has(in, st.readonly, name+"()") {
				unset(in, &st.funcs, name)
			}
		}
		return none, true
	case "return":
		switch n := len(in.returns); {
		case len(args) > 1: // it fails, and the shell goes on
		case n > 0:
			in.returns[n-1].add(st)
			st.dead = true
		case in.mayBeOther():
			in.problem(&c.Place, Dynamic, "return outside of a function ends some shells and does nothing in others: exit ends every one")
		}
		return none, true
	case "exit":
		st.dead = len(args) < 2 // more is an error, and the shell goes on
		return none, true
	case "break", "continue":
		in.leaves(st, len(args) > 0)
		return none, true
	case "shopt":
		in.shopt(args)
		in.setOptions(&c.Place, args)
	case "getopts":
		if len(args) > 1 {
			in.named(&c.Place, args[1])
			st.set(args[1], Unknown)
			st.set("OPTARG", Unknown)
		}
		return none, true
	case "printf":
		if len(args) > 1 && strings.HasPrefix(args[0], "-v") {
			in.named(&c.Place, args[0][2:], args[1])
		}
		if len(args) > 2 && args[0] == "-v" {
			value := printf(args[2:])
			if slices.ContainsFunc(args[3:], func(arg string) bool { return arg == Unknown || arg == Unset }) {
				value = Unknown // it may be several, or none
			}
			st.set(args[1], value)
			return none, true
		}
	case "test", "[":
		for i, arg := range args[:max(0, len(args)-1)] {
			if arg == "-v" || arg == "-R" {
				in.named(&c.Place, args[i+1])
			}
		}
	case "wait":
		in.named(&c.Place, args...)
	case "let":
		for _, arg := range args {
			in.evaluated(&c.Place, st, arg, 0)
		}
	case "compgen", "complete":
		in.completion(c, st, args)
	case ".", "source":
		return in.source1(c, st, args), true
	case "export", "declare", "typeset", "local", "readonly":
		// Reached through a wrapper such as `command export x=y`, or in a shell that takes it for a command like others.
		within := len(in.calls) > 0 && c.Argv[0].Text != "export" && c.Argv[0].Text != "readonly" && !slices.Contains(args, "-g")
		for _, arg := range args {
			if name, _, valued := strings.Cut(arg, "="); within && syntax.ValidName(name) {
				if valued {
					st.shadow(name)
				} else {
					st.declareLocal(name)
				}
			}
			in.declared(&c.Place, st, arg, slices.ContainsFunc(args, func(option string) bool { return strings.HasPrefix(option, "-") && strings.Contains(option, "i") }), false)
			if name, value, ok := strings.Cut(arg, "="); ok && syntax.ValidName(name) {
				if c.Argv[0].Text == "local" && len(in.calls) == 0 {
					continue // it fails outside of functions
				}
				if c.split() {
					value = Unknown // some shells split it
				}
				st.set(name, value)
				st.export(name)
				if c.Env == nil {
					c.Env = map[string]string{}
				}
				c.Env[name] = value
			}
		}
	}
	return Stream{}, false
}

// split says whether one of the words of a command came to several arguments, or to none.
func (c *Call) split() bool {
	stmt, ok := c.node.(*syntax.Stmt)
	if !ok {
		return false
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(c.Via) == 0 && len(call.Args) != len(c.Argv)
}

// skipOptions returns the arguments after the options.
func skipOptions(args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			return args[i+1:]
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			return args[i:]
		}
	}
	return nil
}

// source1 follows `source file`: in the same shell, but only what is known of the file.
func (in *Interpreter) source1(c *Call, st *state, args []string) Stream {
	operands := skipOptions(args)
	if len(operands) == 0 {
		return Stream{}
	}
	file := operands[0]
	st.file = false // from now on, BASH_SOURCE may be that one
	content, written := c.Written(file)
	if c.IsInput(file) {
		content, written = c.Stdin, true
	}
	if !written {
		for _, name := range c.Matching(file) {
			more, _ := c.Written(name)
			content, written = content.then(more), true
		}
		content.Known = content.Known && !written
	}
	switch {
	case written && (content.Known || content.Text != ""):
		inner := st.clone()
		if len(operands) > 1 {
			inner.params = append([]string{"bash"}, operands[1:]...)
		}
		in.returns = append(in.returns, leaving{})
		states, out := in.code(&c.Place, content.Text, inner, c.Stdin)
		params := st.params
		st.become(blur(append(states, in.returned()...)))
		st.params = params
		return out
	default:
		in.visitor.Call(c)
	}
	return Stream{Piped: true, From: From("a script")}
}

// shift drops positional parameters.
func (in *Interpreter) shift(st *state, args []string) {
	n, err := 1, error(nil)
	if len(args) > 0 {
		n, err = strconv.Atoi(args[0])
	}
	in.work += len(st.params)
	if err == nil {
		st.shift(n)
	} else if len(st.params) > 1 {
		st.params = []string{st.params[0], Unknown}
	}
}

// set changes the positional parameters.
func (in *Interpreter) set(st *state, fields []Field) {
	args := Texts(fields)
	in.keeps = in.keeps || slices.Contains(args, "noclobber") || len(args) > 0 && strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "C")
	if len(args) > 0 && (strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], "--") && strings.Contains(args[0], "e") || slices.Contains(args, "errexit")) {
		st.strict = strings.HasPrefix(args[0], "-")
	}
	for i, arg := range args {
		if arg == "--" {
			st.params = append([]string{st.Get("0").String()}, positional(fields[i+1:])...)
			return
		}
		if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
			if i > 0 && (args[i-1] == "-o" || args[i-1] == "+o") || i > 0 && strings.HasSuffix(args[i-1], "o") {
				continue
			}
			st.params = append([]string{st.Get("0").String()}, positional(fields[i:])...)
			return
		}
	}
}

// optionValue is the value of an option of one letter, attached or in the next argument; "" if there is none.
func optionValue(args []string, letter byte) string {
	for i, arg := range args {
		if at := strings.IndexByte(arg, letter); at > 0 && arg[0] == '-' && arg[1] != '-' {
			if value := arg[at+1:]; value != "" {
				return value
			}
			if i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}

// completion follows the list of words that a completion expands.
func (in *Interpreter) completion(c *Call, st *state, args []string) {
	words := optionValue(args, 'W')
	if words == "" || !strings.ContainsAny(words, "`$") {
		return
	}
	if document, err := in.parser.Document(strings.NewReader(words)); err == nil {
		x := in.expansion(st, &c.Place)
		x.substitutions(document)
		in.expansions.put(x)
	}
}
