package programs

import (
	"path"
	"strings"
)

// envUses returns the uses of env's arguments: options, variables and a command.
func envUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	for _, opt := range c.parsed.Options {
		if opt.Has && (opt.Name == "-S" || opt.HasName("--split-string")) {
			code := "env " + opt.Value // -S splits a text that may begin with options and variables
			for _, arg := range c.args[opt.At+1:] {
				code += " '" + strings.ReplaceAll(arg.Text, "'", `'\''`) + "'"
			}
			return append(uses, shellCodeUse(code))
		}
		uses = c.appendOptionUses(uses, opt)
	}
	vars := map[string]string{}
	at := c.operandIndexes()
	for len(at) > 0 {
		name, value, ok := strings.Cut(c.args[at[0]].Text, "=")
		if !ok {
			return resolveRelativePaths(append(uses, ArgumentUse{Kind: Command, Argv: c.args[at[0]:], Env: vars}))
		}
		vars[name], at = value, at[1:]
	}
	return resolveRelativePaths(uses)
}

// publicPaths are paths whose existence is no secret: system program directories and container markers.
var publicPaths = wordSet(`/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin
	/.dockerenv /run/.containerenv`)

// testUses returns the uses of test's arguments: files and compared texts.
func testUses(c programCall) []ArgumentUse {
	isOperator := func(i int) bool {
		if i < 0 || i >= len(c.args) {
			return false
		}
		switch c.args[i].Text {
		case "=", "==", "!=", "=~", "<", ">":
			return true
		}
		return false
	}
	var uses []ArgumentUse
	for i, arg := range c.args {
		if file := path.Clean(arg.Text); publicPaths[file] || publicPaths[path.Dir(file)] {
			continue
		}
		isText := isOperator(i-1) || isOperator(i+1) || i > 0 && (c.args[i-1].Text == "-z" || c.args[i-1].Text == "-n")
		if !isText && !isOperator(i) {
			uses = append(uses, wholeArgumentUse(Path, arg))
		}
	}
	return uses
}
