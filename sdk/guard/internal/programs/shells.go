package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// posixShellUses returns the uses of a POSIX shell's arguments. If a cluster contains the flag c, the first operand is
// code.
func posixShellUses(c programCall) []ArgumentUse {
	var uses []ArgumentUse
	hasCode, readsStdin, checksOnly, hasPlus := false, false, false, false
	i := 0
	for ; i < len(c.args); i++ {
		text := c.args[i].Text
		if text == "--" || text == "-" {
			i++
			break
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			break
		}
		if strings.HasPrefix(text, "--") {
			name, value, has := strings.Cut(text, "=")
			switch {
			case name == "--version" || name == "--help":
				return uses
			case (name == "--rcfile" || name == "--init-file") && i+1 < len(c.args):
				i++
				uses = append(uses, ArgumentUse{Kind: Script, Lang: "sh", Text: c.args[i].Text})
			case strings.HasPrefix(name, "--command") && has:
				return append(uses, shellCodeUse(value))
			case strings.HasPrefix(name, "--command"):
				hasCode = true
			}
			continue
		}
		hasCode = hasCode || strings.Contains(text, "c") && text[0] == '-'
		readsStdin = readsStdin || strings.Contains(text, "s")
		hasPlus = hasPlus || text[0] == '+'
		checksOnly = checksOnly || strings.Contains(text, "n") && text[0] == '-' && strings.Trim(text[1:], "nvxeu") == ""
		if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
			i++
		}
	}
	rest := c.args[min(i, len(c.args)):]
	params := shell.ArgumentTexts(rest)
	switch {
	case hasCode && len(rest) > 0:
		if params = params[1:]; len(params) == 0 {
			params = []string{"bash"}
		}
		return append(uses, ArgumentUse{Kind: Code, Lang: "sh", Text: rest[0].Text, Params: params})
	case readsStdin || len(rest) == 0:
		uses = append(uses, ArgumentUse{Kind: Input, Lang: "sh", Params: append([]string{"bash"}, params...)})
	case checksOnly && !hasPlus && !strings.HasPrefix(rest[0].Text, shell.Unknown):
		uses, rest = append(uses, wholeArgumentUse(Read, rest[0])), rest[1:]
	default:
		uses = append(uses, ArgumentUse{Kind: Script, Lang: "sh", Text: rest[0].Text, Glob: rest[0].Glob, Params: params})
		rest = rest[1:]
	}
	return append(uses, unknownProgramUses(rest)...)
}

// windowsShellUses returns the uses of the arguments of cmd and PowerShell.
func windowsShellUses(c programCall) []ArgumentUse {
	lang, texts := c.entry.Lang, shell.ArgumentTexts(c.args)
	for i, text := range texts {
		lower := strings.ToLower(text)
		rest := strings.Join(texts[i+1:], " ")
		switch option, dashed := strings.CutPrefix(lower, "-"); {
		case lang == "cmd":
			if strings.HasPrefix(lower, "/c") || strings.HasPrefix(lower, "/k") {
				return []ArgumentUse{{Kind: Code, Lang: lang, Text: strings.TrimSpace(text[2:] + " " + rest)}}
			}
		case !dashed && (i == 0 || !powershellOptionHasValue(texts[i-1])):
			return []ArgumentUse{{Kind: Code, Lang: lang, Text: strings.Join(texts[i:], " ")}}
		case !dashed || option == "":
		case isOptionAbbreviation(option, "encodedcommand") || option == "ec":
			return []ArgumentUse{{Kind: Code, Lang: lang, Text: shell.Unknown}}
		case isOptionAbbreviation(option, "command"):
			return []ArgumentUse{{Kind: Code, Lang: lang, Text: rest}}
		case isOptionAbbreviation(option, "file") && i+1 < len(texts):
			return []ArgumentUse{{Kind: Script, Lang: lang, Text: texts[i+1]}}
		}
	}
	return []ArgumentUse{{Kind: Input, Lang: lang}}
}

// isOptionAbbreviation reports whether an option abbreviates a name, as PowerShell allows.
func isOptionAbbreviation(option, name string) bool { return strings.HasPrefix(name, option) }

// powershellOptionHasValue reports whether a PowerShell option, perhaps abbreviated, takes the next argument as value.
func powershellOptionHasValue(option string) bool {
	option = strings.ToLower(strings.TrimPrefix(option, "-"))
	for _, name := range []string{
		"executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "configurationname",
		"workingdirectory", "ep",
	} {
		if option != "" && isOptionAbbreviation(option, name) {
			return true
		}
	}
	return false
}
