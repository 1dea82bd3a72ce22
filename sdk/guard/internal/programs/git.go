package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// git has settings and aliases that are commands, and operands that are revisions, paths or addresses.
func git(c call) []Use {
	var uses []Use
	aliases := map[string]string{}
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && is(opt, Data) && (opt.Name == "-c" || opt.Is("--config")) && c.configures(opt.Arg):
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitSetting(key, value)...)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = value
			}
		default:
			uses = c.option(uses, opt)
		}
	}
	at := c.operands()
	if len(c.parsed.Operands) > 0 {
		first := c.parsed.Operands[0]
		if value, ok := aliases[strings.ToLower(c.args[first].Text)]; ok && !strings.HasPrefix(value, "!") {
			argv := append(words("git"), words(strings.Fields(value)...)...)
			return based(append(uses, Use{Kind: Command, Argv: append(argv, c.args[first+1:]...)}))
		}
	}
	if c.verb() == "config" {
		return based(append(uses, gitConfig(c, at)...))
	}
	from := len(uses)
	uses = c.operandUses(uses, at)
	for i := range uses[from:] {
		u := &uses[from+i]
		command, ext := strings.CutPrefix(u.Text, "ext::")
		switch {
		case ext:
			*u = Use{Kind: Command, Argv: extWords(command)}
		case u.Kind != Code && (Remote(u.Text) || strings.HasPrefix(u.Text, ":") || c.revision(u.Text)):
			u.Kind = Data
		}
	}
	return based(uses)
}

// configures reports whether the option -c at an argument is a setting: it is in front of the verb, and behind some.
func (c *call) configures(arg int) bool {
	return c.verbs == 0 || arg < c.parsed.Operands[0] || c.verb() == "clone" || c.verb() == "submodule"
}

// revision reports whether an operand is a file within a revision, as in HEAD:a/b.
func (c *call) revision(text string) bool {
	switch c.verb() {
	case "show", "cat-file", "rev-parse", "diff", "log", "blame":
		return strings.Contains(text, ":") && !strings.HasPrefix(text, "/")
	}
	return false
}

// gitConfig is what the verb config does with its operands.
func gitConfig(c call, at []int) []Use {
	var rest []string
	for _, i := range at {
		if text := c.args[i].Text; text != "set" && text != "get" {
			rest = append(rest, text)
		}
	}
	if len(rest) < 2 {
		return nil
	}
	return gitSetting(rest[0], rest[1])
}

// gitCommands are the last parts of the keys whose values are commands.
var gitCommands = set(`pager editor sshcommand fsmonitor askpass external textconv command driver clean smudge
	process cmd helper program uploadpack receivepack gitproxy difffilter packobjectshook defaultkeycommand guitool`)

// gitPaths are the last parts of the keys whose values are paths.
var gitPaths = set("hookspath templatedir path worktree excludesfile attributesfile")

// gitSetting is what setting a key does: many values are commands.
func gitSetting(key, value string) []Use {
	key = strings.ToLower(key)
	section, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	command, shells := strings.CutPrefix(value, "!")
	switch {
	case gitPaths[last]:
		return []Use{{Kind: Path, Text: value}}
	case section == "alias" && !shells:
		return []Use{{Kind: Command, Argv: append(words("git"), words(strings.Fields(value)...)...)}}
	case section == "alias":
		return []Use{sh(command)}
	case section == "credential" && !shells && !strings.Contains(value, "/"):
	case section == "pager", gitCommands[last] && value != "true" && value != "false" && value != "",
		last == "update" && shells:
		return []Use{sh(command)}
	}
	return nil
}

// extWords splits the command in an address of git's transport ext: "% " is a space in a word, "%%" a percent sign.
func extWords(command string) []shell.Field {
	var argv []shell.Field
	var word strings.Builder
	for i := 0; i <= len(command); i++ {
		switch {
		case i == len(command) || command[i] == ' ':
			if word.Len() > 0 {
				argv = append(argv, shell.Field{Text: word.String()})
			}
			word.Reset()
		case command[i] == '%' && i+1 < len(command):
			i++
			word.WriteByte(command[i])
		default:
			word.WriteByte(command[i])
		}
	}
	return argv
}

// set is a set of words.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
