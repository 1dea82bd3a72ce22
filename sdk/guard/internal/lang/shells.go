package lang

import "strings"

// shells write code of other shells as sh has it, as far as that is about which commands are started.
var shells = map[string]func(string) string{
	"nu":     func(code string) string { return unmarked(code, "^") },
	"elvish": func(code string) string { return unmarked(code, "e:") },
	"xonsh":  strings.NewReplacer("![", " ", "$[", " ", "!(", "(", "]", " ").Replace,
}

// IsShell says whether a language is that of a shell which [AsShell] can read.
func IsShell(language string) bool { return shells[language] != nil }

// AsShell is code of a shell as sh has it, and false for a language that is no such shell's.
func AsShell(language, code string) (string, bool) {
	if as := shells[language]; as != nil {
		return as(code), true
	}
	return "", false
}

// unmarked drops what stands in front of the names of commands to say that they are programs.
func unmarked(code, mark string) string {
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		if (i == 0 || strings.IndexByte(" \t\n;|&({", code[i-1]) >= 0) && strings.HasPrefix(code[i:], mark) {
			i += len(mark) - 1
			continue
		}
		b.WriteByte(code[i])
	}
	return b.String()
}
