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
			if name, value, ok := strings.Cut(arg, "="); ok {
				st.own()
				st.aliases = put(st.aliases, name, value)
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

// readNames returns the variables that read or mapfile fills, and whether the first is an array.
func readNames(args []string, mapfile bool) (names []string, list bool) {
	list = mapfile
	valued := "adinNptu"
	if mapfile {
		valued = "dnOsuCc"
	}
	for i := 0; i < len(args); i++ {
		letters, option := strings.CutPrefix(args[i], "-")
		if !option || letters == "" {
			names = append(names, args[i])
			continue
		}
		for at, letter := range letters {
			if !strings.ContainsRune(valued, letter) {
				continue
			}
			value := letters[at+len(string(letter)):]
			if value == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			if letter == 'a' {
				names, list = append(names, value), true
			}
			break
		}
	}
	return names, list
}

// read sets the variables that read and mapfile fill. A one-line input that is known is assigned; else the variables
// aren't known.
func (in *Interpreter) read(c *Call, st *state, args []string) {
	mapfile := c.Argv[0].Text != "read"
	names, list := readNames(args, mapfile)
	if len(names) == 0 {
		names = map[bool][]string{false: {"REPLY"}, true: {"MAPFILE"}}[list]
	}
	line, rest, _ := strings.Cut(c.Stdin.Text, "\n")
	known := c.Stdin.Known && plainRead(args, mapfile) && (mapfile || rest == "" && !strings.Contains(line, `\`))
	if !known {
		for _, name := range names {
			if list {
				st.setList(name, []string{Unknown})
			} else {
				st.set(name, Unknown, c.Stdin.From)
			}
		}
		return
	}
	separators := st.Get("IFS").String()
	if value, ok := c.Env["IFS"]; ok {
		separators = value
	}
	switch {
	case mapfile:
		st.setList(names[0], strings.Split(strings.TrimSuffix(c.Stdin.Text, "\n"), "\n"))
	case list:
		st.setList(names[0], splitFields(line, separators, -1))
	default:
		words := splitFields(line, separators, len(names))
		for i, name := range names {
			value := ""
			if i < len(words) {
				value = words[i]
			}
			st.set(name, value, nil)
		}
	}
}

// plainRead reports whether read or mapfile has only options that don't change what is read.
func plainRead(args []string, mapfile bool) bool {
	for _, arg := range args {
		if letters, ok := strings.CutPrefix(arg, "-"); ok && strings.Trim(letters,
			map[bool]string{false: "rsea", true: "t"}[mapfile]) != "" {
			return false
		}
	}
	return true
}

// splitFields splits a line as read does: the last of n fields is the rest of the line.
func splitFields(line, separators string, n int) []string {
	space := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n", r) {
			return r
		}
		return -1
	}, separators)
	line = strings.Trim(line, space)
	var out []string
	for line != "" {
		end := strings.IndexAny(line, separators)
		if end < 0 || len(out)+1 == n {
			return append(out, line)
		}
		out = append(out, line[:end])
		after := strings.TrimLeft(line[end:], space)
		if len(after) > 0 && strings.IndexByte(separators, after[0]) >= 0 && strings.IndexByte(space, after[0]) < 0 {
			after = after[1:]
		}
		line = strings.TrimLeft(after, space)
	}
	return out
}
