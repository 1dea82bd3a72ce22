package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxItems limits the items of a parallel command that are analysed.
const maxItems = 16

// xargsUses returns the uses of xargs's arguments: a command with words of standard input appended, or put in place
// of a mark.
func xargsUses(c call) []Use {
	var uses []Use
	mark := ""
	for _, opt := range c.parsed.Options {
		uses = c.appendOption(uses, opt)
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
	return append(uses, Use{Kind: Command, Argv: c.args[at[0]:], Items: true, Text: mark})
}

// parallelUses returns the uses of GNU parallel's arguments. Items come from standard input or follow ":::", and a
// shell runs the command.
func parallelUses(c call) []Use {
	at := c.operandIndexes()
	if len(at) == 0 {
		return c.dataUses()
	}
	argv := c.args[at[0]:]
	var items []shell.Field
	for i, f := range argv {
		if strings.HasPrefix(f.Text, ":::") {
			argv, items = argv[:i], argv[i+1:]
			break
		}
	}
	var uses []Use
	for _, opt := range c.parsed.Options {
		uses = c.appendOption(uses, opt)
	}
	line := strings.Join(shell.FieldTexts(argv), " ")
	if len(items) == 0 {
		return append(uses, Use{Kind: Command, Argv: argv, Items: true}, shellCode(line))
	}
	for _, item := range items[:min(len(items), maxItems)] {
		if strings.Contains(line, "{}") {
			uses = append(uses, shellCode(strings.ReplaceAll(line, "{}", item.Text)))
		} else {
			uses = append(uses, shellCode(strings.TrimSpace(line+" "+item.Text)))
		}
	}
	if len(argv) == 0 {
		return uses
	}
	return append(uses, Use{Kind: Command, Argv: argv, Items: true})
}
