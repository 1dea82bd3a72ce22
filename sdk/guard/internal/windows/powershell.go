package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// comments are what stands between <# and #>.
var comments = lazyregexp.New(`(?s)<#.*?#>`)

// PowerShell splits a line of PowerShell. What a variable holds isn't known; a command that is computed comes out as
// [shell.Unknown] alone.
func PowerShell(line string) [][]string {
	dashes := strings.NewReplacer("–", "-", "—", "-", "―", "-")
	l := &lexer{code: dashes.Replace(comments().ReplaceAllString(line, " "))}
	for ; l.at < len(l.code); l.at++ {
		l.next(l.code[l.at])
	}
	l.finish()
	return l.out
}

// lexer goes through a line of PowerShell.
type lexer struct {
	code    string
	at      int
	out     [][]string
	argv    []string
	word    strings.Builder
	started bool
	quote   byte
}

// next takes one character.
func (l *lexer) next(c byte) {
	switch {
	case c == '`' && l.quote != '\'' && l.at+1 < len(l.code):
		if l.at++; l.code[l.at] != '\n' {
			l.add(l.code[l.at : l.at+1])
		}
	case l.quote == '"' && strings.HasPrefix(l.code[l.at:], "$("):
		inner, _, _ := strings.Cut(l.code[l.at+2:], ")")
		l.out = append(l.out, PowerShell(inner)...)
		l.at += min(len(inner)+2, len(l.code)-l.at-1)
		l.add(shell.Unknown)
	case l.quote != 0 && c == l.quote:
		l.quote = 0
	case c == '$' && l.quote != '\'':
		l.add(shell.Unknown)
	case l.quote != 0:
		l.add(string(c))
	case c == '"' || c == '\'':
		l.quote, l.started = c, true
	case strings.IndexByte(";|\n\r{}()", c) >= 0:
		l.finish()
	case c == '&' || c == '.' && !l.started && len(l.argv) == 0:
		l.invoke(c)
	case c == '>':
		l.end()
		l.argv = append(l.argv, ">")
	case c == ' ' || c == '\t' || c == ',':
		l.end()
	default:
		l.add(string(c))
	}
}

// invoke takes the signs that start what an expression names.
func (l *lexer) invoke(sign byte) {
	rest := strings.TrimLeft(l.code[l.at+1:], " ")
	switch {
	case strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "$"):
		l.finish()
		l.out = append(l.out, []string{shell.Unknown})
	case sign == '&':
		l.finish()
	case l.at+1 < len(l.code) && strings.IndexByte(` '"`, l.code[l.at+1]) < 0:
		l.add(".")
	}
}

func (l *lexer) add(text string) {
	l.word.WriteString(text)
	l.started = true
}

// end ends a word.
func (l *lexer) end() {
	if l.started {
		l.argv = append(l.argv, l.word.String())
	}
	l.word.Reset()
	l.started = false
}

// finish ends a command.
func (l *lexer) finish() {
	if l.end(); len(l.argv) > 0 {
		l.out = append(l.out, l.argv)
	}
	l.argv = nil
}
