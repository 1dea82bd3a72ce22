package programs

import (
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
			if mark = opt.Value; mark == "" {
				mark = "{}"
			}
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
	var uses []ArgumentUse
	for _, opt := range c.parsed.Options {
		uses = c.appendOptionUses(uses, opt)
	}
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
