package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// gitUses returns the uses of git's arguments. Settings and aliases can be commands. Operands can be revisions, paths
// or URLs.
func gitUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	aliases := map[string]string{}
	for _, opt := range c.parsed.Options {
		switch {
		case opt.Has && optionHasRole(opt, Data) && (opt.Name == "-c" || opt.HasName("--config")) && c.isGitConfigOption(opt.Arg):
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitSettingUses(key, value)...)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = value
			}
		default:
			uses = c.appendOptionUses(uses, opt)
		}
	}
	at := c.operandIndexes()
	if len(c.parsed.Operands) > 0 {
		first := c.parsed.Operands[0]
		if value, ok := aliases[strings.ToLower(c.args[first].Text)]; ok && !strings.HasPrefix(value, "!") {
			argv := append(shell.PlainArguments("git"), shell.PlainArguments(strings.Fields(value)...)...)
			return resolveRelativePaths(append(uses, ArgumentUse{Kind: Command, Argv: append(argv, c.args[first+1:]...)}))
		}
	}
	if c.verbName() == "config" {
		return resolveRelativePaths(append(uses, usesOfGitConfig(c, at)...))
	}
	from := len(uses)
	uses = c.appendOperandUses(uses, at)
	for i := range uses[from:] {
		u := &uses[from+i]
		command, ext := strings.CutPrefix(u.Text, "ext::")
		switch {
		case ext:
			*u = ArgumentUse{Kind: Command, Argv: splitExtTransportCommand(command)}
		case u.Kind != Code && (IsRemoteFile(u.Text) || strings.HasPrefix(u.Text, ":") || c.isGitRevisionFile(u.Text)):
			u.Kind = Data
		}
	}
	return resolveRelativePaths(uses)
}

// isGitConfigOption reports whether -c sets git configuration: before the verb, or after clone or submodule.
func (c *programCall) isGitConfigOption(arg int) bool {
	return c.verbCount == 0 || arg < c.parsed.Operands[0] || c.verbName() == "clone" || c.verbName() == "submodule"
}

// isGitRevisionFile reports whether an operand names a file in a revision, such as HEAD:a/b.
func (c *programCall) isGitRevisionFile(text string) bool {
	switch c.verbName() {
	case "show", "cat-file", "rev-parse", "diff", "log", "blame":
		return strings.Contains(text, ":") && !strings.HasPrefix(text, "/")
	}
	return false
}

func usesOfGitConfig(c programCall, at []int) []ArgumentUse {
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

// gitSettingUses returns the uses of a git configuration value, which may be a command.
func gitSettingUses(key, value string) []ArgumentUse {
	key = strings.ToLower(key)
	section, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	command, isShell := strings.CutPrefix(value, "!")
	switch {
	case gitPathKeys[last]:
		return []ArgumentUse{{Kind: Path, Text: value}}
	case section == "alias" && !isShell:
		return []ArgumentUse{{Kind: Command, Argv: append(shell.PlainArguments("git"), shell.PlainArguments(strings.Fields(value)...)...)}}
	case section == "alias":
		return []ArgumentUse{shellCodeUse(command)}
	case section == "credential" && !isShell && !strings.Contains(value, "/"):
	case section == "pager", gitCommandKeys[last] && value != "true" && value != "false" && value != "",
		last == "update" && isShell:
		return []ArgumentUse{shellCodeUse(command)}
	}
	return nil
}

// splitExtTransportCommand splits the command in a URL of git's ext transport. In it "% " is a space within a word and "%%" a
// percent sign.
func splitExtTransportCommand(command string) []shell.Argument {
	var argv []shell.Argument
	var word strings.Builder
	for i := 0; i <= len(command); i++ {
		switch {
		case i == len(command) || command[i] == ' ':
			if word.Len() > 0 {
				argv = append(argv, shell.Argument{Text: word.String()})
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

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
