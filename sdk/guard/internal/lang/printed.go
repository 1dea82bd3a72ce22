package lang

import (
	"iter"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	// shows are calls that print what they are given.
	shows = pattern.New(`\b(print|printf|puts|say|echo|warn|die|syswrite|write|writelines|writeSync|console\.\w+|sys\.exit)\b[ \t]*`)
	// handsOver are the same functions where they are given another name, or to something else that calls them.
	handsOver = pattern.New(`(?:[=(,]\s*|\.)(?:print|console\.log|sys\.stdout\.write|process\.stdout\.write)\s*[,;)\]\n]|\blog\b[^;\n]*=\s*console\b|=\s*(?:print|console\.log|sys\.stdout\.write)\s*$`)
	// sepBy and endBy are what Python's print puts between and behind what it prints; otherOptions are its other options.
	sepBy        = pattern.New(`,?\s*\bsep\s*=\s*"(\d+)"`)
	endBy        = pattern.New(`,?\s*\bend\s*=\s*"(\d+)"`)
	otherOptions = pattern.New(`,?\s*\b(?:file|flush)\s*=\s*[\w.]+`)
	// toHandle is a file in front of what Perl prints to it.
	toHandle = pattern.New(`^\(?\s*\{?\s*(?:\*?STD(?:OUT|ERR)|\$\w+)\s*\}?\s*,?\s*"`)
	// modifiers stand behind a statement of Perl or Ruby.
	modifiers = pattern.New(`\s(?:if|unless|for|foreach|while|until)\b`)
)

// maxShown is how many bytes of arguments of calls that print are read.
const maxShown = 64 << 10

// printed is what code is seen to print: what its calls print, as far as that begins with a constant. Where one prints what isn't known,
// or is called by something else, the strings that may be commands stand for it.
func (s *skeleton) printed(language string) []Effect {
	var exact, lines strings.Builder
	left, unknown := maxShown, handsOver.MatchString(s.worth(handsOver))
	for name, at := range s.showing(language) {
		args := s.region(at)
		if left -= len(args); left < 0 {
			break
		}
		bracket := strings.HasPrefix(args, "(")
		if at := modifiers.FindStringIndex(args); at != nil && !bracket && (language == "perl" || language == "ruby") {
			args = args[:at[0]]
		}
		parts, separator, end := s.shown(language, name, args)
		if len(parts) == 0 {
			unknown = unknown || strings.Trim(args, "() \t\n;}") != ""
			continue
		}
		exact.WriteString(strings.Join(parts, separator) + end)
		if separator == "" {
			separator = " " // as Perl may be told
		}
		lines.WriteString(strings.TrimSuffix(strings.Join(parts, separator), "\n") + "\n")
	}
	if unknown {
		for _, l := range s.literals {
			if strings.IndexByte(l.text, ' ') < 0 || lines.Len() >= maxConstant {
				continue
			}
			if text := uninterpolated(language, l.text); commandLike(text) {
				lines.WriteString(strings.TrimSuffix(text, "\n") + "\n")
			}
		}
	}
	text := lines.String()
	if whole := strings.TrimSuffix(exact.String(), "\n") + "\n"; whole != "\n" && !strings.HasPrefix(text, whole) {
		text = whole + text // as it stands, and if something puts the lines apart
	}
	return prints(strings.ReplaceAll(text, shell.Item+"=", "name=")) // of a variable
}

// printing are the names of functions that print what they are given, or of the methods of files.
var printing = names("print printf puts say echo warn die syswrite write writelines writeSync")

// showing are the calls that print, by name and the place of the arguments.
func (s *skeleton) showing(language string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if language != "python" && language != "node" && language != "lua" {
			for _, m := range shows.FindAllStringSubmatchIndex(s.worth(shows)) {
				if !yield(s.code[m[2]:m[3]], m[1]) {
					return
				}
			}
			return
		}
		for at, c := range []byte(s.code) {
			if c != '(' {
				continue
			}
			end := at
			for end > 0 && (s.code[end-1] == ' ' || s.code[end-1] == '\t') {
				end--
			}
			start, dot := end, -1
			for start > 0 && (wordByte(s.code[start-1]) || s.code[start-1] == '.' && dot < 0) {
				if start--; s.code[start] == '.' {
					dot = start
				}
			}
			name := s.code[start:end]
			if dot >= 0 && !strings.HasPrefix(name, "console.") && name != "sys.exit" {
				name = s.code[dot+1 : end]
			}
			if (printing[name] || dot >= 0 && strings.IndexByte(name, '.') > 0) && !yield(name, at) {
				return
			}
		}
	}
}

// withMarks is a string with the mark of a name for each {…} and ${…}, by which Python and JavaScript put something into it.
func withMarks(text string) string {
	if strings.IndexByte(text, '{') < 0 {
		return text
	}
	var b strings.Builder
	for {
		end := strings.IndexByte(text, '}')
		if end < 0 {
			break
		}
		open := strings.LastIndexByte(text[:end], '{')
		if open < 0 {
			b.WriteString(text[:end+1])
		} else {
			b.WriteString(strings.TrimSuffix(text[:open], "$") + shell.Item)
		}
		text = text[end+1:]
	}
	return b.String() + text
}

// withInsertions is a string with the mark of a name for each #{…}, by which Ruby puts something into it.
func withInsertions(text string) string {
	if !strings.Contains(text, "#{") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "#{")
		if b.WriteString(before); !ok {
			return b.String()
		}
		b.WriteString(shell.Item)
		inside := len(bracketed("{" + rest))
		text = rest[min(inside+1, len(rest)):]
	}
}

// uninterpolated is a string with the mark of a name for what is put into it.
func uninterpolated(language, text string) string {
	if language != "python" && language != "node" || !strings.Contains(text, "{") {
		return text
	}
	return withMarks(text)
}

// shown are the parts of what a call prints, with the mark of a name for what isn't known, what stands between them, and what behind. It
// is nothing if the beginning isn't known.
func (s *skeleton) shown(language, name, args string) (parts []string, separator, end string) {
	if name == "print" && language == "python" || strings.HasPrefix(name, "console.") {
		separator, end = " ", "\n"
	}
	if name == "puts" || name == "say" || name == "sys.exit" || language == "lua" || language == "other" {
		separator, end = "", "\n"
	}
	if language == "python" && strings.Contains(args, "=") {
		set := func(p *pattern.Pattern, to *string) {
			if m := p.FindStringSubmatch(args); m != nil {
				*to, _ = s.text(m[1])
				args = p.ReplaceAllString(args, "")
			}
		}
		set(sepBy, &separator)
		set(endBy, &end)
		args = otherOptions.ReplaceAllString(args, "")
	}
	if m := toHandle.FindString(args); m != "" {
		args = args[len(m)-1:]
	}
	parts = s.parts(args)
	if len(parts) > 1 && (name == "syswrite" || strings.HasPrefix(name, "write")) {
		if strings.HasPrefix(parts[0], shell.Item) {
			parts = parts[1:] // what it writes to
		} else if name != "writelines" {
			parts = parts[:1] // how much, or how, stands behind it
		}
	}
	if len(parts) == 0 || parts[0] == "" || strings.HasPrefix(parts[0], shell.Item) {
		return nil, separator, end
	}
	if strings.Contains(parts[0], "%") && (name == "printf" || strings.HasPrefix(name, "console.")) {
		format, rest := parts[0], parts[1:]
		parts = append([]string{verbs.ReplaceAllStringFunc(format, func(verb string) string {
			if verb == "%%" || len(rest) == 0 {
				return strings.TrimPrefix(verb, "%")
			}
			value := rest[0]
			rest = rest[1:]
			return value
		})}, rest...)
	}
	return parts, separator, end
}

// behindJoin is what stands behind what other strings are joined by.
var behindJoin = pattern.New(`^\.\s*join\s*\(`)

// behindFormat is what stands behind a string that others are put into.
var behindFormat = pattern.New(`^\.\s*format\s*\(`)

// parts are the arguments of a call between commas, with the mark of a name for what isn't known: at least one, which may be empty.
func (s *skeleton) parts(args string) (parts []string) {
	var part strings.Builder
	unknown, inserts := false, false
	flush := func() {
		parts = append(parts, part.String())
		part.Reset()
		unknown = false
	}
	for i := 0; i < len(args); i++ {
		switch c := args[i]; {
		case c == '"':
			end := strings.IndexByte(args[i+1:], '"')
			if end < 0 {
				end = len(args) - i - 2
			}
			if n, err := strconv.Atoi(args[i+1 : i+1+end]); err == nil {
				text, ok := s.text(args[i+1 : i+1+end])
				if l := s.literals[n]; ok && (inserts || l.template && l.tick) {
					text = withMarks(text)
				}
				if behind := strings.TrimLeft(args[i+2+end:], " "); strings.HasPrefix(behind, "%") {
					text = verbs.ReplaceAllString(text, shell.Item)
				} else if behindFormat.MatchString(behind) {
					text = withMarks(text)
				} else if behindJoin.MatchString(behind) {
					text = shell.Item // what it joins
				}
				if ok {
					part.WriteString(text)
					unknown = false
				}
				inserts = false
			}
			i += end + 1
		case c == ',', c == '+' && strings.HasSuffix(strings.TrimRight(args[:i], " "), "]") && strings.HasPrefix(strings.TrimLeft(args[i+1:], " "), "["):
			flush() // lists that are put together have both their elements
		case i+1 < len(args) && args[i+1] == '"' && strings.IndexByte("bBfFrRuU", c) >= 0:
			inserts = inserts || c|0x20 == 'f'
		case !unknown && (wordByte(c) || c == '$' || c == '@'):
			part.WriteString(shell.Item)
			unknown = true
		}
	}
	flush()
	return parts
}

// keywords are words that a line of the shell doesn't stand by itself with.
var keywords = names("if then else elif fi for while until do done case esac in function select time { } !")

// commandLike says whether a string may be a line of the shell: words, quotes and brackets in pairs.
func commandLike(text string) bool {
	first, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok || rest == "" || keywords[first] || len(text) > maxConstant || strings.IndexByte("#-&|;<>)", first[0]) >= 0 {
		return false
	}
	for _, pair := range []string{"''", `""`, "``", "()", "{}", "[]"} {
		if opened, closed := strings.Count(text, pair[:1]), strings.Count(text, pair[1:]); pair[0] == pair[1] && opened%2 != 0 || opened != closed {
			return false
		}
	}
	return true
}

// Lines are those of some texts that may be lines of the shell.
func Lines(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		if commandLike(text) {
			b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return b.String()
}

func prints(text string) []Effect {
	if text == "" {
		return nil
	}
	return []Effect{{Kind: Print, Text: text}}
}

// awkPrints is the same of awk.
func awkPrints(tokens []token) []Effect {
	var out strings.Builder
	unknown := false
	for i, t := range tokens {
		if t.kind != 'a' || t.text != "print" && t.text != "printf" {
			continue
		}
		text := awkShown(tokens[i+1:], t.text == "printf")
		if unknown = unknown || text == ""; text != "" {
			out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	for _, t := range tokens {
		if unknown && t.kind == '"' && commandLike(t.text) && out.Len() < maxConstant {
			out.WriteString(strings.TrimSuffix(t.text, "\n") + "\n")
		}
	}
	return prints(out.String())
}

// awkShown is what a statement of awk prints, its arguments being what the tokens begin with. It is "" if the beginning isn't known.
func awkShown(tokens []token, format bool) string {
	parts := []string{""}
	depth := 0
	for _, t := range tokens {
		if depth == 0 && (t.text == ";" || t.text == "}" || t.text == "\n" || t.text == "|" || t.text == ">" || t.text == ">>") && t.kind == '.' {
			break
		}
		last := len(parts) - 1
		switch {
		case t.kind == '"':
			parts[last] += t.text
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case t.text == ",":
			parts = append(parts, "")
		case !strings.HasSuffix(parts[last], shell.Item):
			parts[last] += shell.Item
		}
	}
	if parts[0] == "" || strings.HasPrefix(parts[0], shell.Item) {
		return ""
	}
	if !format {
		return strings.Join(parts, " ")
	}
	next := 0
	return verbs.ReplaceAllStringFunc(parts[0], func(verb string) string {
		if next++; verb == "%%" || next >= len(parts) {
			return strings.TrimPrefix(verb, "%")
		}
		return parts[next]
	})
}
