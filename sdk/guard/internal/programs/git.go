package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// gitUses returns the uses of git's arguments: settings and aliases can be commands, and operands can be revisions,
// paths or URLs.
func gitUses(c call) []Use {
	var uses []Use
	aliases := map[string]string{}
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && hasRole(opt, Data) && (opt.Name == "-c" || opt.HasName("--config")) && c.isGitSetting(opt.Arg):
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitSettingUses(key, value)...)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = value
			}
		default:
			uses = c.appendOption(uses, opt)
		}
	}
	at := c.operandIndexes()
	if len(c.parsed.Operands) > 0 {
		first := c.parsed.Operands[0]
		if value, ok := aliases[strings.ToLower(c.args[first].Text)]; ok && !strings.HasPrefix(value, "!") {
			argv := append(wordFields("git"), wordFields(strings.Fields(value)...)...)
			return resolveDirs(append(uses, Use{Kind: Command, Argv: append(argv, c.args[first+1:]...)}))
		}
	}
	if c.verbName() == "config" {
		return resolveDirs(append(uses, gitConfigUses(c, at)...))
	}
	from := len(uses)
	uses = c.appendOperands(uses, at)
	for i := range uses[from:] {
		u := &uses[from+i]
		command, ext := strings.CutPrefix(u.Text, "ext::")
		switch {
		case ext:
			*u = Use{Kind: Command, Argv: splitExtCommand(command)}
		case u.Kind != Code && (IsRemote(u.Text) || strings.HasPrefix(u.Text, ":") || c.isGitRevision(u.Text)):
			u.Kind = Data
		}
	}
	return resolveDirs(uses)
}

// isGitSetting reports whether the option -c at an argument is a setting: before the verb, and after clone and
// submodule.
func (c *call) isGitSetting(arg int) bool {
	return c.verbCount == 0 || arg < c.parsed.Operands[0] || c.verbName() == "clone" || c.verbName() == "submodule"
}

// isGitRevision reports whether an operand is a file in a revision, such as HEAD:a/b.
func (c *call) isGitRevision(text string) bool {
	switch c.verbName() {
	case "show", "cat-file", "rev-parse", "diff", "log", "blame":
		return strings.Contains(text, ":") && !strings.HasPrefix(text, "/")
	}
	return false
}

// gitConfigUses returns the uses of the operands of git config.
func gitConfigUses(c call, at []int) []Use {
	var rest []string
	for _, i := range at {
		if text := c.args[i].Text; text != "set" && text != "get" {
			rest = append(rest, text)
		}
	}
	if len(rest) < 2 {
		return nil
	}
	return gitSettingUses(rest[0], rest[1])
}

// gitCommandKeys are the last parts of configuration keys with a command as value.
var gitCommandKeys = wordSet(`pager editor sshcommand fsmonitor askpass external textconv command driver clean smudge
	process cmd helper program uploadpack receivepack gitproxy difffilter packobjectshook defaultkeycommand guitool`)

// gitPathKeys are the last parts of configuration keys with a path as value.
var gitPathKeys = wordSet("hookspath templatedir path worktree excludesfile attributesfile")

// gitSettingUses returns the uses of a configuration value: many values are commands.
func gitSettingUses(key, value string) []Use {
	key = strings.ToLower(key)
	section, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	command, isShell := strings.CutPrefix(value, "!")
	switch {
	case gitPathKeys[last]:
		return []Use{{Kind: Path, Text: value}}
	case section == "alias" && !isShell:
		return []Use{{Kind: Command, Argv: append(wordFields("git"), wordFields(strings.Fields(value)...)...)}}
	case section == "alias":
		return []Use{shellCode(command)}
	case section == "credential" && !isShell && !strings.Contains(value, "/"):
	case section == "pager", gitCommandKeys[last] && value != "true" && value != "false" && value != "",
		last == "update" && isShell:
		return []Use{shellCode(command)}
	}
	return nil
}

// splitExtCommand splits the command in a URL of git's ext transport: "% " is a space in a word, "%%" a percent sign.
func splitExtCommand(command string) []shell.Field {
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

// wordSet returns the set of words in a text.
func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
