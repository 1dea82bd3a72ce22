package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// commentPattern matches <# ... #>.
var commentPattern = lazyregexp.New(`(?s)<#.*?#>`)

// SplitPowerShell splits a PowerShell line into simple commands. Variables become unknown marks, and a computed command
// is [shell.Unknown].
func SplitPowerShell(line string) [][]string {
	dashes := strings.NewReplacer("–", "-", "—", "-", "―", "-")
	l := &powerShellLexer{code: dashes.Replace(commentPattern().ReplaceAllString(line, " "))}
	for ; l.at < len(l.code); l.at++ {
		l.readChar(l.code[l.at])
	}
	l.endCommand()
	return l.out
}

// powerShellLexer splits a PowerShell line into simple commands.
type powerShellLexer struct {
	code    string
	at      int
	out     [][]string
	argv    []string
	word    strings.Builder
	started bool
	quote   byte
}

func (l *powerShellLexer) readChar(c byte) {
	switch {
	case c == '`' && l.quote != '\'' && l.at+1 < len(l.code):
		if l.at++; l.code[l.at] != '\n' {
			l.addText(l.code[l.at : l.at+1])
		}
	case l.quote == '"' && strings.HasPrefix(l.code[l.at:], "$("):
		inner, _, _ := strings.Cut(l.code[l.at+2:], ")")
		l.out = append(l.out, SplitPowerShell(inner)...)
		l.at += min(len(inner)+2, len(l.code)-l.at-1)
		l.addText(shell.Unknown)
	case l.quote != 0 && c == l.quote:
		l.quote = 0
	case c == '$' && l.quote != '\'':
		l.addText(shell.Unknown)
	case l.quote != 0:
		l.addText(string(c))
	case c == '"' || c == '\'':
		l.quote, l.started = c, true
	case strings.IndexByte(";|\n\r{}()", c) >= 0:
		l.endCommand()
	case c == '&' || c == '.' && !l.started && len(l.argv) == 0:
		l.readInvokeOperator(c)
	case c == '>':
		l.endWord()
		l.argv = append(l.argv, ">")
	case c == ' ' || c == '\t' || c == ',':
		l.endWord()
	default:
		l.addText(string(c))
	}
}

func (l *powerShellLexer) readInvokeOperator(sign byte) {
	rest := strings.TrimLeft(l.code[l.at+1:], " ")
	switch {
	case strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "$"):
		l.endCommand()
		l.out = append(l.out, []string{shell.Unknown})
	case sign == '&':
		l.endCommand()
	case l.at+1 < len(l.code) && strings.IndexByte(` '"`, l.code[l.at+1]) < 0:
		l.addText(".")
	}
}

func (l *powerShellLexer) addText(text string) {
	l.word.WriteString(text)
	l.started = true
}

// endWord adds the current word to the command.
func (l *powerShellLexer) endWord() {
	if l.started {
		l.argv = append(l.argv, l.word.String())
	}
	l.word.Reset()
	l.started = false
}

// endCommand adds the current command to the result.
func (l *powerShellLexer) endCommand() {
	if l.endWord(); len(l.argv) > 0 {
		l.out = append(l.out, l.argv)
	}
	l.argv = nil
}
