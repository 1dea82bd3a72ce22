package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// The bounds of what is split: how deep commands may stand in commands, as behind for, if and call, and how many words all of
// them may have. Each of them has all the words behind it.
const (
	maxNesting = 16
	maxWords   = 16 << 10
)

// word is a word of cmd.exe, and whether it was quoted.
type word struct {
	text   string
	quoted bool
}

// cmdLexer takes a line of cmd.exe apart.
type cmdLexer struct {
	out     []Command
	words   []word
	files   []string
	file    bool // the next word is a file's name
	text    strings.Builder
	quoted  bool // inside quotes
	started bool // a word has begun
	marked  bool // the word has quotes
	piped   bool
	depth   int
	total   int // words of the commands so far
}

// Cmd splits a line of cmd.exe. Switches come out as arguments of their own, as cmd takes "del/f/q" too, and
// what a variable holds isn't known.
func Cmd(line string) []Command { return cmd(line, 0) }

func cmd(line string, depth int) []Command {
	if depth > maxNesting {
		return []Command{{Argv: []string{shell.Unknown}, Dynamic: true}}
	}
	l := &cmdLexer{depth: depth}
	for i := 0; i < len(line); i++ {
		i += l.next(line[i:])
	}
	l.finish(false)
	return l.out
}

// next takes one byte, and returns how many further ones belong to it.
func (l *cmdLexer) next(rest string) int {
	c := rest[0]
	switch {
	case c == '"':
		l.quoted, l.started, l.marked = !l.quoted, true, true
	case c == '%' || c == '!':
		return l.variable(rest)
	case l.quoted && c != '\n':
		l.text.WriteByte(c)
	case c == '^' && len(rest) > 1:
		if rest[1] != '\n' {
			l.text.WriteByte(rest[1])
			l.started = true
		}
		return 1
	case c == '|' && len(rest) > 1 && rest[1] == '|':
		l.finish(false)
		return 1
	case c == '&' || c == '|' || c == '\n' || c == '\r':
		l.quoted = false
		l.finish(c == '|')
	case c == '>':
		if strings.Trim(l.text.String(), "0123456789") == "" && !l.marked {
			l.text.Reset() // the number of a stream
			l.started = false
		}
		if l.end(); strings.HasPrefix(rest, ">&") {
			return min(2, len(rest)-1)
		}
		l.file = true
	case c == '<':
		l.end()
		l.piped, l.file = true, true
	case c == ' ' || c == '\t' || c == ',' || c == ';' || c == '(' || c == ')' || c == '@' && !l.started && len(l.words) == 0:
		l.end()
		if c == '(' && len(l.words) == 0 || c == ')' && l.depth == 0 && !l.loops() {
			l.finish(false)
		}
	case c == '/' && l.started && !l.marked && len(l.words) == 0 && !strings.ContainsAny(l.text.String(), `\:.`):
		l.end()
		l.text.WriteByte(c)
		l.started = true
	default:
		l.text.WriteByte(c)
		l.started = true
	}
	return 0
}

// loops says whether the command is one whose brackets are part of it.
func (l *cmdLexer) loops() bool {
	if len(l.words) == 0 {
		return false
	}
	first := strings.ToLower(l.words[0].text)
	return first == "for" || first == "if" || first == "echo" || first == "rem"
}

// variable takes %name%, !name!, and what stands for an argument of a batch file.
func (l *cmdLexer) variable(rest string) int {
	c := rest[0]
	n := strings.IndexByte(rest[1:], c)
	switch {
	case n > 0 && !strings.ContainsAny(rest[1:1+n], " \t/&|"):
		name, _, _ := strings.Cut(rest[1:1+n], ":")
		switch {
		case Variable(name):
			l.text.WriteString("%" + name + "%")
		case strings.EqualFold(name, "cd"):
			l.text.WriteByte('.')
		default:
			l.unknown()
		}
		l.started = true
		return n + 1
	case c == '%' && len(rest) > 2 && rest[1] == '~' && (rest[2] == 'd' || rest[2] == 'p' || rest[2] == 'f'):
		l.text.WriteString("%systemdrive%")
		l.started = true
		return len(rest[:3]) - 1
	case c == '%' && len(rest) > 1 && (rest[1] >= '0' && rest[1] <= '9' || rest[1] == '*'):
		l.unknown()
		l.started = true
		return 1
	}
	l.text.WriteByte(c)
	l.started = true
	return 0
}

// unknown adds text that nobody knows. Much of it is no more than some.
func (l *cmdLexer) unknown() {
	if !strings.HasSuffix(l.text.String(), shell.Unknown) {
		l.text.WriteString(shell.Unknown)
	}
}

func (l *cmdLexer) end() {
	switch {
	case l.started && l.file:
		l.files, l.file = append(l.files, l.text.String()), false
	case l.started:
		l.words = append(l.words, word{l.text.String(), l.marked})
	}
	l.text.Reset()
	l.started, l.marked = false, false
}

// finish ends a simple command; piped says that the next one reads what it prints.
func (l *cmdLexer) finish(piped bool) {
	if l.end(); len(l.words) == 0 && len(l.files) > 0 {
		l.words = []word{{text: "rem"}}
	}
	if at := len(l.out); len(l.words) > 0 {
		if l.command(l.words, l.piped, l.depth); at < len(l.out) {
			l.out[at].Files = l.files
		}
	}
	l.words, l.files, l.file, l.piped = nil, nil, false, piped
}

// internal are the commands of cmd.exe itself, which need no space behind them.
var internal = names("cd chdir dir md mkdir rd rmdir del erase type copy move ren echo pushd start call set")

// command adds a simple command, and the commands in it.
func (l *cmdLexer) command(words []word, piped bool, depth int) {
	if strings.HasPrefix(words[0].text, ":") {
		return // a label, or a comment
	}
	if l.total += len(words); l.total > maxWords {
		if l.total-len(words) <= maxWords {
			l.out = append(l.out, Command{Argv: []string{shell.Unknown}, Dynamic: true})
		}
		return
	}
	words[0].text = strings.TrimLeft(words[0].text, "@")
	head := strings.ToLower(words[0].text)
	if at := strings.IndexAny(head, `.\:=`); at > 0 && !words[0].quoted && internal[head[:at]] {
		rest := word{words[0].text[at:], false}
		if rest.text[0] == ':' || rest.text[0] == '=' {
			rest.text = rest.text[1:]
		}
		words = append([]word{{words[0].text[:at], false}, rest}, words[1:]...)
		head = head[:at]
	}
	argv := make([]string, 0, len(words))
	for _, w := range words {
		argv = append(argv, split(w)...)
	}
	l.out = append(l.out, Command{Argv: argv, Piped: piped, Dynamic: unknown(argv[0]) || strings.HasPrefix(argv[0], "%") && !strings.EqualFold(argv[0], "%comspec%")})
	switch head {
	case "rem", "echo":
		return
	case "for":
		l.loop(words, depth)
	case "call":
		l.inner(words[1:], depth)
	case "start":
		l.start(words[1:], depth)
	case "if", "else":
		l.condition(words[1:], depth)
	case "forfiles":
		for i, w := range words[:len(words)-1] {
			if strings.EqualFold(w.text, "/c") {
				l.out = append(l.out, cmd(words[i+1].text, depth+1)...)
			}
		}
	}
}

func (l *cmdLexer) inner(words []word, depth int) {
	switch {
	case len(words) == 0:
	case depth >= maxNesting:
		l.out = append(l.out, Command{Argv: []string{shell.Unknown}, Dynamic: true})
	default:
		l.command(words, false, depth+1)
	}
}

// loop takes "for %x in (…) do command"; between the brackets, /f may have a command in quotes.
func (l *cmdLexer) loop(words []word, depth int) {
	in := -1
	for i, w := range words {
		switch {
		case strings.EqualFold(w.text, "in") && in < 0:
			in = i
		case strings.EqualFold(w.text, "do"):
			if in > 0 {
				l.source(words[in+1:i], depth)
			}
			l.inner(words[i+1:], depth)
			return
		}
	}
}

func (l *cmdLexer) source(words []word, depth int) {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
	}
	if text := strings.Join(texts, " "); len(text) > 1 && (text[0] == '\'' || text[0] == '`') {
		l.out = append(l.out, cmd(strings.Trim(text, "'`"), depth+1)...)
	}
}

// start takes an optional title in quotes, switches, and the command.
func (l *cmdLexer) start(words []word, depth int) {
	titled := false
	for len(words) > 0 && (strings.HasPrefix(words[0].text, "/") || words[0].quoted && !titled) {
		titled = titled || words[0].quoted
		if strings.EqualFold(words[0].text, "/d") && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	l.inner(words, depth)
}

// condition takes the words behind if and else: the first that names a command begins one.
func (l *cmdLexer) condition(words []word, depth int) {
	for i, w := range words {
		switch lower := strings.ToLower(w.text); {
		case lower == "else":
			l.inner(words[i+1:], depth)
			return
		case i > 0 && (Names[shell.Name(lower)] || internal[lower] || own[lower]), i > 1 && !strings.EqualFold(words[0].text, "not") || i > 2:
			l.inner(words[i:], depth)
			for j := i + 1; j < len(words); j++ {
				if strings.EqualFold(words[j].text, "else") {
					l.inner(words[j+1:], depth)
				}
			}
			return
		}
	}
}

// split takes "/f/q" apart.
func split(w word) []string {
	if w.quoted || !strings.HasPrefix(w.text, "/") || strings.Count(w.text, "/") < 2 || strings.HasPrefix(w.text, "//") || strings.ContainsAny(w.text, `.\`) {
		return []string{w.text}
	}
	var out []string
	for _, s := range strings.Split(w.text[1:], "/") {
		out = append(out, "/"+s)
	}
	return out
}
