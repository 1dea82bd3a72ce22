package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// posixShell takes a shell's arguments apart: -c may stand anywhere in a cluster, and code is the first operand.
func posixShell(c call) []Use {
	var uses []Use
	code, stdin, checks, plus := false, false, false, false
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
				uses = append(uses, Use{Kind: Script, Lang: "sh", Text: c.args[i].Text})
			case strings.HasPrefix(name, "--command") && has:
				return append(uses, sh(value))
			case strings.HasPrefix(name, "--command"):
				code = true
			}
			continue
		}
		code = code || strings.Contains(text, "c") && text[0] == '-'
		stdin = stdin || strings.Contains(text, "s")
		plus = plus || text[0] == '+'
		checks = checks || strings.Contains(text, "n") && text[0] == '-' && strings.Trim(text[1:], "nvxeu") == ""
		if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
			i++
		}
	}
	rest := c.args[min(i, len(c.args)):]
	params := shell.Texts(rest)
	switch {
	case code && len(rest) > 0:
		if params = params[1:]; len(params) == 0 {
			params = []string{"bash"}
		}
		return append(uses, Use{Kind: Code, Lang: "sh", Text: rest[0].Text, Params: params})
	case stdin || len(rest) == 0:
		uses = append(uses, Use{Kind: Input, Lang: "sh", Params: append([]string{"bash"}, params...)})
	case checks && !plus && !strings.HasPrefix(rest[0].Text, shell.Unknown):
		uses, rest = append(uses, field(Read, rest[0])), rest[1:]
	default:
		uses = append(uses, Use{Kind: Script, Lang: "sh", Text: rest[0].Text, Glob: rest[0].Glob, Params: params})
		rest = rest[1:]
	}
	return append(uses, plain(rest)...)
}

// windowsShell takes the arguments of cmd and PowerShell apart.
func windowsShell(c call) []Use {
	lang, texts := c.entry.Lang, shell.Texts(c.args)
	for i, text := range texts {
		lower := strings.ToLower(text)
		rest := strings.Join(texts[i+1:], " ")
		switch option, dashed := strings.CutPrefix(lower, "-"); {
		case lang == "cmd":
			if strings.HasPrefix(lower, "/c") || strings.HasPrefix(lower, "/k") {
				return []Use{{Kind: Code, Lang: lang, Text: strings.TrimSpace(text[2:] + " " + rest)}}
			}
		case !dashed && (i == 0 || !powershellValue(texts[i-1])):
			return []Use{{Kind: Code, Lang: lang, Text: strings.Join(texts[i:], " ")}}
		case !dashed || option == "":
		case abbreviates(option, "encodedcommand") || option == "ec":
			return []Use{{Kind: Code, Lang: lang, Text: shell.Unknown}}
		case abbreviates(option, "command"):
			return []Use{{Kind: Code, Lang: lang, Text: rest}}
		case abbreviates(option, "file") && i+1 < len(texts):
			return []Use{{Kind: Script, Lang: lang, Text: texts[i+1]}}
		}
	}
	return []Use{{Kind: Input, Lang: lang}}
}

// abbreviates reports whether a name begins with an option, as PowerShell takes it.
func abbreviates(option, name string) bool { return strings.HasPrefix(name, option) }

// powershellValue reports whether an option of PowerShell, perhaps abbreviated, takes the next argument.
func powershellValue(option string) bool {
	option = strings.ToLower(strings.TrimPrefix(option, "-"))
	for _, name := range []string{
		"executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "configurationname",
		"workingdirectory", "ep",
	} {
		if option != "" && abbreviates(option, name) {
			return true
		}
	}
	return false
}
