package shell

import (
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// interpretBuiltin interprets a builtin that changes the shell itself, and reports whether the command is one. Some
// builtins are also passed to the visitor, because rules apply to them.
func (in *Interpreter) interpretBuiltin(c *SimpleCommand, st *shellState) (StreamContent, bool) {
	args := ArgumentTexts(c.Argv[1:])
	empty := knownStream("")
	switch c.Argv[0].Text {
	case "test", "[", "printf", "let", "declare", "typeset", "local", "export", "readonly", "read", "unset", "mapfile",
		"readarray":
		for _, arg := range args {
			if strings.Contains(arg, "[") {
				in.interpretNestedSubstitutions(&c.CommandLocation, arg, st)
			}
		}
	case "command", "type":
		if len(args) == 2 && (args[0] == "-v" || args[0] == "-P" || args[0] == "-p" && c.Argv[0].Text == "type") {
			return knownStream("/usr/bin/" + path.Base(args[1]) + "\n"), true
		}
	}
	switch c.Argv[0].Text {
	case "cd", "chdir":
		in.interpretCd(c, st, args)
		return empty, true
	case "pushd":
		in.interpretPushd(c, st, args)
		return empty, true
	case "popd":
		if n := len(st.dirStack); n > 0 {
			st.oldDir, st.dir, st.dirStack = st.dir, st.dirStack[n-1], st.dirStack[:n-1:n-1]
		}
		return empty, true
	case "eval":
		return in.interpretCode(&c.CommandLocation, strings.Join(args, " "), c.From, st, c.Stdin), true
	case "trap":
		if operands := argsAfterOptions(args); len(operands) > 1 && operands[0] != "-" && operands[0] != "" {
			st.traps = append(st.traps[:len(st.traps):len(st.traps)], operands[0])
		}
		return empty, true
	case "alias":
		for _, arg := range args {
			if _, value, ok := strings.Cut(arg, "="); ok {
				in.interpretCode(&c.CommandLocation, value, c.From, st.cloneState(), StreamContent{})
			}
		}
		return empty, true
	case "unalias":
		return empty, true
	case "read", "mapfile", "readarray":
		in.setReadVars(c, st, args)
		return empty, true
	case "set":
		in.setPositionalParams(st, args)
		return empty, true
	case "shift":
		n := 1
		if len(args) > 0 {
			n, _ = strconv.Atoi(args[0])
		}
		if n > 0 && len(st.params) > n {
			st.params = append(st.params[:1:1], st.params[n+1:]...)
		}
		return empty, true
	case "unset":
		st.unshareMaps()
		for _, name := range argsAfterOptions(args) {
			delete(st.vars, name)
			delete(st.funcs, name)
		}
		return empty, true
	case "exit", "return", "break", "continue":
		st.isDead = true
		return empty, true
	case "getopts":
		if len(args) > 1 {
			st.setVar(args[1], Unknown, nil)
		}
		return empty, true
	case "printf":
		if len(args) > 2 && args[0] == "-v" {
			st.setVar(args[1], printfOutput(args[2:]), c.From)
			return empty, true
		}
	case ".", "source":
		return in.interpretSourcedFile(c, st, args), true
	case "export", "declare", "typeset", "local", "readonly":
		// Reached through a wrapper such as `command export x=y`.
		for _, arg := range args {
			if name, value, ok := strings.Cut(arg, "="); ok && syntax.ValidName(name) {
				st.setVar(name, value, c.From)
				c.Env = setMapEntry(c.Env, name, value)
			}
		}
	}
	return StreamContent{}, false
}

// argsAfterOptions returns the arguments after the leading options.
func argsAfterOptions(args []string) []string {
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

// interpretSourcedFile interprets a file in the current shell (source), if the file's content is known.
func (in *Interpreter) interpretSourcedFile(c *SimpleCommand, st *shellState, args []string) StreamContent {
	operands := argsAfterOptions(args)
	if len(operands) == 0 {
		return StreamContent{}
	}
	file := operands[0]
	content, isWritten := st.files[st.absPath(file)]
	if file == "/dev/stdin" || file == "/dev/fd/0" {
		content, isWritten = c.Stdin, true
	}
	if !isWritten || !content.Known {
		in.visitor.VisitCommand(c)
		return unknownStream("a script")
	}
	params := st.params
	if len(operands) > 1 {
		st.params = append([]string{"bash"}, operands[1:]...)
	}
	out := in.interpretCode(&c.CommandLocation, content.Text, c.From, st, c.Stdin)
	st.params, st.isDead = params, false
	return out
}

// setPositionalParams sets the positional parameters by the arguments of the builtin set.
func (in *Interpreter) setPositionalParams(st *shellState, args []string) {
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

// setReadVars sets the variables of read, mapfile and readarray. Their values are known if the input line is known and
// single spaces separate its words.
func (in *Interpreter) setReadVars(c *SimpleCommand, st *shellState, args []string) {
	mapfile := c.Argv[0].Text != "read"
	_, hasIFS := c.Env["IFS"]
	isList, isKnown := mapfile, c.Stdin.Known && !hasIFS && !st.vars["IFS"].IsSet()
	var names []string
	for _, arg := range args {
		if letters, option := strings.CutPrefix(arg, "-"); option {
			isKnown = isKnown && strings.Trim(letters, map[bool]string{false: "rsea", true: "t"}[mapfile]) == ""
			isList = isList || strings.Contains(letters, "a")
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
		isKnown = false
	}
	for i, name := range names {
		switch rest := words[min(i, len(words)):]; {
		case isList && isKnown:
			st.setListVar(name, words)
		case isList:
			st.setListVar(name, []string{Unknown})
		case !isKnown:
			st.setVar(name, Unknown, c.Stdin.From)
		case i < len(names)-1:
			st.setVar(name, strings.Join(rest[:min(1, len(rest))], ""), nil)
		default:
			st.setVar(name, strings.Join(rest, " "), nil)
		}
	}
}
