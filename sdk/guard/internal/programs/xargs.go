package programs

import (
	"cmp"
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxItems is the maximum number of analysed items of a parallel command.
const maxItems = 16

// xargsUses returns the uses of xargs's arguments: a command to which words of standard input are appended, or in which
// they replace a placeholder.
func xargsUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	mark := ""
	for _, opt := range c.parsed.Options {
		uses = c.appendOptionUses(uses, opt)
		switch {
		case opt.Name == "-I" || opt.Name == "-J":
			mark = opt.Value
		case opt.Name == "-i" || opt.HasName("--replace"):
			mark = cmp.Or(opt.Value, "{}")
		}
	}
	at := c.operandIndexes()
	if len(at) == 0 {
		return uses
	}
	return append(uses, ArgumentUse{Kind: Command, Argv: c.args[at[0]:], Items: true, Text: mark})
}

// parallelUses returns the uses of GNU parallel's arguments. Items come from standard input or follow ":::". A shell
// runs the command.
func parallelUses(c programCall) []ArgumentUse {
	at := c.operandIndexes()
	if len(at) == 0 {
		return c.usesFromEntry()
	}
	argv := c.args[at[0]:]
	var items []shell.Argument
	for i, f := range argv {
		if strings.HasPrefix(f.Text, ":::") {
			argv, items = argv[:i], argv[i+1:]
			break
		}
	}
	uses := c.optionUses()
	line := strings.Join(shell.ArgumentTexts(argv), " ")
	if len(items) == 0 {
		return append(uses, ArgumentUse{Kind: Command, Argv: argv, Items: true}, shellCodeUse(line))
	}
	for _, item := range items[:min(len(items), maxItems)] {
		if strings.Contains(line, "{}") {
			uses = append(uses, shellCodeUse(strings.ReplaceAll(line, "{}", item.Text)))
		} else {
			uses = append(uses, shellCodeUse(strings.TrimSpace(line+" "+item.Text)))
		}
	}
	if len(argv) == 0 {
		return uses
	}
	return append(uses, ArgumentUse{Kind: Command, Argv: argv, Items: true})
}

// usesOfEnv returns the uses of env's arguments: options, variables and a command.
func usesOfEnv(c programCall) []ArgumentUse {
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

// usesOfTest returns the uses of test's arguments: files and compared texts.
func usesOfTest(c programCall) []ArgumentUse {
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
