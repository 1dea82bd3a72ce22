package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// psLexer takes a text of PowerShell apart.
type psLexer struct {
	out       []Command
	argv      []string
	files     []string
	file      bool // the next word is a file's name
	text      strings.Builder
	started   bool
	piped     bool
	call      bool              // behind the operator & or .
	dynamic   bool              // the operator has an expression
	depth     int               // of texts in texts
	constants map[string]string // of variables that were set to one text
}

// dashes and quotes are the characters that PowerShell takes for "-" and for quotes.
var dashes = strings.NewReplacer("–", "-", "—", "-", "―", "-", "‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`)

// PowerShell splits a text of PowerShell. Brackets and braces stand between commands, as what is in them runs, too.
func PowerShell(line string) []Command { return powerShell(line, 0, map[string]string{}) }

func powerShell(line string, depth int, constants map[string]string) []Command {
	if depth > maxNesting {
		return []Command{{Argv: []string{shell.Unknown}, Dynamic: true}}
	}
	l := &psLexer{depth: depth, constants: constants}
	line = dashes.Replace(line)
	for i := 0; i < len(line); i++ {
		i += l.next(line[i:])
	}
	l.finish(false)
	return l.out
}

// next takes one byte, and returns how many further ones belong to it.
func (l *psLexer) next(rest string) int {
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "<#"):
		if end := strings.Index(rest, "#>"); end > 0 {
			return end + 1
		}
		return len(rest)
	case c == '#' && !l.started:
		return strings.IndexByte(rest+"\n", '\n') - 1
	case c == '`' && len(rest) > 1:
		if rest[1] != '\n' {
			l.text.WriteByte(rest[1])
			l.started = true
		}
		return 1
	case strings.HasPrefix(rest, "@'") || strings.HasPrefix(rest, `@"`):
		return l.document(rest)
	case c == '\'' || c == '"':
		return l.quoted(rest)
	case c == '$' || c == '@' && !l.started && len(rest) > 1 && alpha(rest[1]):
		return l.variable(rest)
	case strings.HasPrefix(rest, "||") || strings.HasPrefix(rest, "&&"):
		l.finish(false)
		return 1
	case c == '>' || c == '<':
		if text := l.text.String(); text == "2" || text == "*" || text == "1" {
			l.text.Reset()
			l.started = false
		}
		l.end()
		if strings.HasPrefix(rest, ">&1") {
			return 2
		}
		l.file = true
	case c == '&' || c == '.' && !l.started && len(l.argv) == 0 && len(rest) > 1 && strings.IndexByte(" \t('\"${&", rest[1]) >= 0:
		l.finish(false)
		l.call = true
		after := strings.TrimLeft(rest[1:], " \t")
		l.dynamic = strings.HasPrefix(after, "(") || strings.HasPrefix(after, "[")
	case c == '(' && l.dynamic:
		l.argv = append(l.argv, shell.Unknown)
		l.finish(false)
	case strings.IndexByte(";|\n\r{}()", c) >= 0:
		l.finish(c == '|')
	case c == ' ' || c == '\t' || c == ',':
		l.end()
	default:
		l.text.WriteByte(c)
		l.started = true
	}
	return 0
}

// unknown adds text that nobody knows. Much of it is no more than some.
func (l *psLexer) unknown() {
	if !strings.HasSuffix(l.text.String(), shell.Unknown) {
		l.text.WriteString(shell.Unknown)
	}
}

// document takes a here-string.
func (l *psLexer) document(rest string) int {
	mark := "\n" + rest[1:2] + "@"
	begin := strings.IndexByte(rest, '\n')
	end := strings.Index(rest, mark)
	if begin < 0 || end < begin {
		return 0
	}
	body := ""
	if end > begin {
		body = rest[begin+1 : end]
	}
	if l.started = true; rest[1] == '"' {
		l.interpolated(body)
	} else {
		l.text.WriteString(body)
	}
	return end + len(mark) - 1
}

// quoted takes a text in quotes: a doubled quote is one of the text.
func (l *psLexer) quoted(rest string) int {
	quote := rest[0]
	l.started = true
	var body strings.Builder
	i := 1
	for ; i < len(rest); i++ {
		switch {
		case rest[i] == '`' && quote == '"' && i+1 < len(rest):
			i++
			if rest[i] == '$' {
				body.WriteByte('`')
			}
			body.WriteByte(rest[i])
			continue
		case rest[i] == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			if quote == '"' {
				l.interpolated(body.String())
			} else {
				l.text.WriteString(body.String())
			}
			return i
		}
		body.WriteByte(rest[i])
	}
	l.text.WriteString(body.String())
	return i - 1
}

// interpolated adds a text whose variables and commands are replaced.
func (l *psLexer) interpolated(body string) {
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '`' && i+1 < len(body):
			i++
			l.text.WriteByte(body[i])
		case body[i] == '$' && i+1 < len(body) && body[i+1] == '(':
			end := closing(body[i+1:])
			l.out = append(l.out, powerShell(body[i+2:i+1+end], l.depth+1, l.constants)...)
			l.unknown()
			i += 1 + end
		case body[i] == '$':
			i += l.variable(body[i:])
		default:
			l.text.WriteByte(body[i])
		}
	}
}

// closing is where the bracket that opens a text is closed.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text) - 1
}

// variable takes $name, ${name}, $env:name and @name.
func (l *psLexer) variable(rest string) int {
	name, n := "", 1
	if strings.HasPrefix(rest, "${") {
		if end := strings.IndexByte(rest, '}'); end > 0 {
			name, n = rest[2:end], end+1
		}
	} else {
		for n < len(rest) && (alpha(rest[n]) || rest[n] >= '0' && rest[n] <= '9' || rest[n] == '_' || rest[n] == ':' && n+1 < len(rest) && alpha(rest[n+1])) {
			n++
		}
		name = rest[1:n]
	}
	if name == "" {
		if len(rest) > 1 && rest[1] == '(' {
			return 0 // the commands in the brackets come next
		}
		l.unknown()
		l.started = true
		return 0
	}
	lower := strings.ToLower(name)
	variable, env := strings.CutPrefix(lower, "env:")
	value, constant := l.constants[lower]
	switch after := strings.TrimLeft(rest[n:], " \t"); {
	case rest[0] == '@':
		l.text.WriteString("@" + shell.Unknown)
	case !l.started && len(l.argv) == 0 && !l.call && strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "=="):
		l.assign(lower, strings.TrimLeft(after[1:], " \t"))
		return n + len(rest[n:]) - len(after)
	case lower == "_" || lower == "psitem":
		l.text.WriteString(shell.Item)
	case env && Variable(variable):
		l.text.WriteString("%" + variable + "%")
	case lower == "home" || lower == "pshome" || lower == "profile":
		l.text.WriteString("$" + lower)
	case constant:
		l.text.WriteString(value)
	default:
		l.unknown()
	}
	l.started = true
	return n - 1
}

// assign remembers a variable if what follows is one text in quotes.
func (l *psLexer) assign(name, value string) {
	delete(l.constants, name)
	if len(value) < 2 || value[0] != '\'' && value[0] != '"' {
		return
	}
	end := strings.IndexByte(value[1:], value[0])
	if end < 0 || strings.ContainsAny(value[1:1+end], "$`") {
		return
	}
	if after := strings.TrimLeft(value[end+2:], " \t"); after == "" || after[0] == ';' || after[0] == '\n' {
		l.constants[name] = value[1 : 1+end]
	}
}

func (l *psLexer) end() {
	switch {
	case l.started && l.file:
		l.files, l.file = append(l.files, l.text.String()), false
	case l.started:
		l.argv = append(l.argv, l.text.String())
	}
	l.text.Reset()
	l.started = false
}

// finish ends a simple command; piped says that the next one reads what it prints.
func (l *psLexer) finish(piped bool) {
	if l.end(); len(l.argv) == 0 && len(l.files) > 0 {
		l.argv = []string{"write-output"}
	}
	if len(l.argv) > 0 {
		dynamic := l.call && (l.dynamic || unknown(l.argv[0])) || strings.HasPrefix(l.argv[0], "%") && len(l.argv[0]) > 1
		l.out = append(l.out, Command{Argv: l.argv, Files: l.files, Piped: l.piped, Dynamic: dynamic})
		l.call, l.dynamic = false, false
	}
	l.argv, l.files, l.file, l.piped = nil, nil, false, piped
}
