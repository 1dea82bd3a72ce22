package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxItems is how many items of a command are looked at.
const maxItems = 16

// xargs starts a command with words of its input appended, or in the place of a mark.
func xargs(c call) []Use {
	var uses []Use
	mark := ""
	for _, opt := range c.parsed.Options {
		uses = c.option(uses, opt)
		switch {
		case opt.Name == "-I" || opt.Name == "-J":
			mark = opt.Value
		case opt.Name == "-i" || opt.Is("--replace"):
			if mark = opt.Value; mark == "" {
				mark = "{}"
			}
		}
	}
	at := c.operands()
	if len(at) == 0 {
		return uses
	}
	return append(uses, Use{Kind: Command, Argv: c.args[at[0]:], Items: true, Text: mark})
}

// parallel is xargs whose items can also stand behind ":::". It hands the words to a shell.
func parallel(c call) []Use {
	at := c.operands()
	if len(at) == 0 {
		return c.uses()
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
		uses = c.option(uses, opt)
	}
	line := strings.Join(shell.Texts(argv), " ")
	if len(items) == 0 {
		return append(uses, Use{Kind: Command, Argv: argv, Items: true}, sh(line))
	}
	for _, item := range items[:min(len(items), maxItems)] {
		if strings.Contains(line, "{}") {
			uses = append(uses, sh(strings.ReplaceAll(line, "{}", item.Text)))
		} else {
			uses = append(uses, sh(strings.TrimSpace(line+" "+item.Text)))
		}
	}
	if len(argv) == 0 {
		return uses
	}
	return append(uses, Use{Kind: Command, Argv: argv, Items: true})
}
