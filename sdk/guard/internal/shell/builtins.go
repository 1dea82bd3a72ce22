package shell

import (
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin follows a command that changes the shell itself. The second result reports whether it was one.
// A few also go to the visitor, because rules may concern them.
func (in *Interpreter) builtin(c *Call, st *state) (Stream, bool) {
	args := Texts(c.Argv[1:])
	none := text("")
	switch c.Argv[0].Text {
	case "test", "[", "printf", "let", "declare", "typeset", "local", "export", "readonly", "read", "unset", "mapfile",
		"readarray":
		for _, arg := range args {
			if strings.Contains(arg, "[") {
				in.evaluated(&c.Place, arg, st)
			}
		}
	case "command", "type":
		if len(args) == 2 && (args[0] == "-v" || args[0] == "-P" || args[0] == "-p" && c.Argv[0].Text == "type") {
			return text("/usr/bin/" + path.Base(args[1]) + "\n"), true
		}
	}
	switch c.Argv[0].Text {
	case "cd", "chdir":
		in.cd(c, st, args)
		return none, true
	case "pushd":
		in.pushd(c, st, args)
		return none, true
	case "popd":
		if n := len(st.stack); n > 0 {
			st.oldDir, st.dir, st.stack = st.dir, st.stack[n-1], st.stack[:n-1:n-1]
		}
		return none, true
	case "eval":
		return in.code(&c.Place, strings.Join(args, " "), c.From, st, c.Stdin), true
	case "trap":
		if operands := skipOptions(args); len(operands) > 1 && operands[0] != "-" && operands[0] != "" {
			st.traps = append(st.traps[:len(st.traps):len(st.traps)], operands[0])
		}
		return none, true
	case "alias":
		for _, arg := range args {
			if _, value, ok := strings.Cut(arg, "="); ok {
				in.code(&c.Place, value, c.From, st.clone(), Stream{})
			}
		}
		return none, true
	case "unalias":
		return none, true
	case "read", "mapfile", "readarray":
		in.read(c, st, args)
		return none, true
	case "set":
		in.set(st, args)
		return none, true
	case "shift":
		n := 1
		if len(args) > 0 {
			n, _ = strconv.Atoi(args[0])
		}
		if n > 0 && len(st.params) > n {
			st.params = append(st.params[:1:1], st.params[n+1:]...)
		}
		return none, true
	case "unset":
		st.own()
		for _, name := range skipOptions(args) {
			delete(st.vars, name)
			delete(st.funcs, name)
		}
		return none, true
	case "exit", "return", "break", "continue":
		st.dead = true
		return none, true
	case "getopts":
		if len(args) > 1 {
			st.set(args[1], Unknown, nil)
		}
		return none, true
	case "printf":
		if len(args) > 2 && args[0] == "-v" {
			st.set(args[1], printf(args[2:]), c.From)
			return none, true
		}
	case ".", "source":
		return in.source1(c, st, args), true
	case "export", "declare", "typeset", "local", "readonly":
		// Reached through a wrapper such as `command export x=y`.
		for _, arg := range args {
			if name, value, ok := strings.Cut(arg, "="); ok && syntax.ValidName(name) {
				st.set(name, value, c.From)
				c.Env = put(c.Env, name, value)
			}
		}
	}
	return Stream{}, false
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
	content, written := st.files[st.abs(file)]
	if file == "/dev/stdin" || file == "/dev/fd/0" {
		content, written = c.Stdin, true
	}
	switch {
	case written && content.Known:
		params := st.params
		if len(operands) > 1 {
			st.params = append([]string{"bash"}, operands[1:]...)
		}
		out := in.code(&c.Place, content.Text, c.From, st, c.Stdin)
		st.params, st.dead = params, false
		return out
	default:
		in.visitor.Call(c)
	}
	return printed("a script")
}

// set changes the positional parameters.
func (in *Interpreter) set(st *state, args []string) {
	for i, arg := range args {
		if arg == "--" {
			st.params = append([]string{"bash"}, args[i+1:]...)
			return
		}
		if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
			if i > 0 && (args[i-1] == "-o" || args[i-1] == "+o") || i > 0 && strings.HasSuffix(args[i-1], "o") {
				continue
			}
			st.params = append([]string{"bash"}, args[i:]...)
			return
		}
	}
}

// read sets the variables that read, mapfile and readarray fill. A line that is known, with words that single spaces
// separate, is assigned; else the variables aren't known.
func (in *Interpreter) read(c *Call, st *state, args []string) {
	mapfile := c.Argv[0].Text != "read"
	_, separated := c.Env["IFS"]
	list, known := mapfile, c.Stdin.Known && !separated && !st.vars["IFS"].IsSet()
	var names []string
	for _, arg := range args {
		if letters, option := strings.CutPrefix(arg, "-"); option {
			known = known && strings.Trim(letters, map[bool]string{false: "rsea", true: "t"}[mapfile]) == ""
			list = list || strings.Contains(letters, "a")
		} else if syntax.ValidName(arg) {
			names = append(names, arg)
		}
	}
	if len(names) == 0 {
		names = []string{"REPLY", "MAPFILE"}
	}
	text := strings.TrimSuffix(c.Stdin.Text, "\n")
	words := strings.Fields(text)
	if mapfile {
		words = strings.Split(text, "\n")
	} else if strings.Join(words, " ") != strings.Trim(text, " ") || strings.Contains(text, `\`) {
		known = false
	}
	for i, name := range names {
		switch rest := words[min(i, len(words)):]; {
		case list && known:
			st.setList(name, words)
		case list:
			st.setList(name, []string{Unknown})
		case !known:
			st.set(name, Unknown, c.Stdin.From)
		case i < len(names)-1:
			st.set(name, strings.Join(rest[:min(1, len(rest))], ""), nil)
		default:
			st.set(name, strings.Join(rest, " "), nil)
		}
	}
}
