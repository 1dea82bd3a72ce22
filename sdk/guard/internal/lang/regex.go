package lang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// regexBefore are the words behind which a slash begins a regular expression.
var regexBefore = strings.Fields("if unless and or not xor grep split map when while until return print case in then else elsif do typeof")

// matchers are Perl's operators of matching and replacing, with how many parts they have.
var matchers = []struct {
	name  string
	parts int
}{{"qr", 1}, {"tr", 2}, {"m", 1}, {"s", 2}, {"y", 2}}

// maxUnclosed is how many times the end of a regular expression is looked for in vain.
const maxUnclosed = 64

// regex adds the regular expression that code begins with, if it does, and returns its length.
func (s *skeleton) regex(b *strings.Builder, language, code string) int {
	s.matched = 0
	if c := code[0]; s.unclosed > maxUnclosed || c != '/' && c != 'm' && c != 'q' && c != 's' && c != 't' && c != 'y' && c != '%' {
		return 0
	}
	n := regexLiteral(language, b.String(), code)
	if n < 0 {
		s.unclosed++
		return 0
	}
	if n > 0 {
		s.add(b, literal{regex: true})
	}
	s.matched = n
	return n
}

// regexLiteral is the length of the regular expression that code begins with, behind before; 0 if it begins with none, or with one
// that has code in it, -1 if it doesn't end. Of a replacement that is code, only the expression counts.
func regexLiteral(language, before, code string) int {
	switch {
	case language == "perl" && !named(before):
		for _, m := range matchers {
			if rest, ok := strings.CutPrefix(code, m.name); ok && len(rest) > 1 && delimits(rest[0]) {
				return plainRegex(code, len(m.name), m.parts)
			}
		}
	case language == "ruby" && strings.HasPrefix(code, "%r") && len(code) > 3 && delimits(code[2]):
		return plainRegex(code, 2, 1)
	}
	if code[0] != '/' || language != "perl" && language != "ruby" && language != "node" || !beginsRegex(before) {
		return 0
	}
	switch line, _, _ := strings.Cut(code, "\n"); {
	case len(line) < 2 || line[1] == '/' || line[1] == '*' && language == "node":
		return 0
	case part(line, 0) > len(line):
		return -1
	}
	return plainRegex(code, 0, 1)
}

// named says whether what comes next is part of a name, or the name of a variable, a key or a method.
func named(before string) bool {
	if before == "" {
		return false
	}
	last := before[len(before)-1]
	return wordByte(last) || strings.IndexByte("$@%&>{:", last) >= 0
}

func delimits(c byte) bool { return strings.IndexByte("/!{([<|~#,", c) >= 0 }

// beginsRegex says whether a slash behind a text begins a regular expression and doesn't divide.
func beginsRegex(before string) bool {
	before = strings.TrimRight(before, " \t")
	if before == "" {
		return true
	}
	if last := before[len(before)-1]; !wordByte(last) {
		return strings.IndexByte("(,=!~&|?:;{[+-*\n", last) >= 0 && !strings.HasSuffix(before, "++") && !strings.HasSuffix(before, "--")
	}
	start := len(before)
	for start > 0 && wordByte(before[start-1]) {
		start--
	}
	return slices.Contains(regexBefore, before[start:]) && (start == 0 || strings.IndexByte("$@%.>", before[start-1]) < 0)
}

// part is where the part ends that begins with a delimiter at a place of the code, behind the closing one; beyond the code if it
// has none.
func part(code string, at int) int {
	if at >= len(code) {
		return len(code) + 1
	}
	open, closing, depth, class := code[at], code[at], 0, false
	if i := strings.IndexByte("{([<", open); i >= 0 {
		closing = "})]>"[i]
	}
	for i := at + 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\':
			i++
		case c == '[' && open == '/':
			class = true
		case c == ']' && class:
			class = false
		case c == closing && !class:
			if depth--; depth < 0 {
				return i + 1
			}
		case c == open && closing != open:
			depth++
		}
	}
	return len(code) + 1
}

// plainRegex is the length of an operator with its parts and flags.
func plainRegex(code string, at, parts int) int {
	open := code[at]
	first := part(code, at)
	if first > len(code) {
		return -1
	}
	if runsCode(code[at:first]) {
		return 0
	}
	end := first
	if parts == 2 {
		second := first - 1 // one delimiter stands between the two
		if strings.IndexByte("{([<", open) >= 0 {
			for second = first; second < len(code) && strings.IndexByte(" \t\n", code[second]) >= 0; second++ {
				continue
			}
		}
		if end = part(code, second); end > len(code) {
			return -1
		}
		if runsCode(code[second:end]) || strings.HasPrefix(code, "s") && strings.Contains(flags(code[end:]), "e") {
			return first
		}
	}
	return end + len(flags(code[end:]))
}

func flags(code string) string {
	n := 0
	for n < len(code) && letter(code[n]) {
		n++
	}
	return code[:n]
}

// runsCode says whether a regular expression, or what replaces it, has code in it.
func runsCode(text string) bool {
	for _, mark := range []string{"#{", "@{", "${", "(?{", "(??{"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

var (
	// ofRegex is where a method of a regular expression, or of a variable that is set to one, is called.
	ofRegex = pattern.New(`"(\d+)"\s*\.\s*$`)
	// matching is where one is given to a method of a string.
	matching = pattern.New(`(?:=|\.\s*(?:match|matchAll|replace|replaceAll|search|split)\s*\()\s*$`)
	reshaped = pattern.New(`rototype|__proto__|\bconstructor\b|\bdefinePropert|\bReflect\b|\bassign\b|\.\s*exec\s*=[^=]`)
)

// matches says whether the method whose name comes next is one of a regular expression, which the code leaves as the language has it.
func (s *skeleton) matches(before string) bool {
	m := ofRegex.FindStringSubmatch(before)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || !s.literals[n].regex || !s.looks(2*len(s.code)) || reshaped.MatchString(s.all()) {
		return false
	}
	mark := `"` + m[1] + `"`
	for at := 0; ; { // as a variable of its name may be a parameter elsewhere, or be set by a loop
		next := strings.Index(s.code[at:], mark)
		if next < 0 {
			return true
		}
		at += next + len(mark)
		if !strings.HasPrefix(strings.TrimLeft(s.code[at:], " \t\n"), ".") && !matching.MatchString(s.code[max(0, at-len(mark)-maxTold):at-len(mark)]) {
			return false
		}
	}
}
