package programs

import (
	"path"
	"strings"
)

// env sets variables, and may change the directory, before it starts a command.
func env(c call) []Use {
	var uses []Use
	for _, opt := range c.parsed.Options {
		if opt.Has && (opt.Name == "-S" || opt.Is("--split-string")) {
			code := "env " + opt.Value // what it splits may begin with options and variables
			for _, arg := range c.args[opt.At+1:] {
				code += " '" + strings.ReplaceAll(arg.Text, "'", `'\''`) + "'"
			}
			return append(uses, sh(code))
		}
		uses = c.option(uses, opt)
	}
	vars := map[string]string{}
	at := c.operands()
	for len(at) > 0 {
		name, value, ok := strings.Cut(c.args[at[0]].Text, "=")
		if !ok {
			return based(append(uses, Use{Kind: Command, Argv: c.args[at[0]:], Env: vars}))
		}
		vars[name], at = value, at[1:]
	}
	return based(uses)
}

// told are what everybody may know of: the directories of the system's programs, and what a container has.
var told = set(`/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin
	/.dockerenv /run/.containerenv`)

// test compares texts, and looks at files.
func test(c call) []Use {
	compares := func(i int) bool {
		if i < 0 || i >= len(c.args) {
			return false
		}
		switch c.args[i].Text {
		case "=", "==", "!=", "=~", "<", ">":
			return true
		}
		return false
	}
	var uses []Use
	for i, arg := range c.args {
		if file := path.Clean(arg.Text); told[file] || told[path.Dir(file)] {
			continue
		}
		text := compares(i-1) || compares(i+1) || i > 0 && (c.args[i-1].Text == "-z" || c.args[i-1].Text == "-n")
		if !text && !compares(i) {
			uses = append(uses, field(Path, arg))
		}
	}
	return uses
}
