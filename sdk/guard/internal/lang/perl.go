package lang

import (
	"iter"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// perlVariable is a variable within a string of Perl.
var perlVariable = pattern.New(`@\$?\w+|\$\w+|[$@]\{\w+\}|\$&`)

// perlVariables puts marks in the place of variables in the commands that code starts.
func (s *skeleton) perlVariables(effects []Effect) {
	for i, e := range effects {
		if e.Kind == Shell {
			effects[i].Text = s.withoutVariables(e.Text)
		}
	}
}

// withoutVariables is a text with marks in the place of the variables that the code has and Perl knows, so that the shell's own of that name
// aren't taken.
func (s *skeleton) withoutVariables(text string) string {
	if !strings.ContainsAny(text, "@$") {
		return text
	}
	return perlVariable.ReplaceAllStringFunc(text, func(name string) string {
		if plain := name[:1] + strings.Trim(name[1:], "{}"); name != "$&" && !s.has(plain) && (name[0] != '@' || !s.has(plain[1:])) {
			return name // of the shell, or of a machine or a person
		}
		return shell.Item
	})
}

// has says whether a name stands in the code.
func (s *skeleton) has(name string) bool {
	for range places(s.code, name) {
		return true
	}
	return false
}

// evaluates says whether a substitution of Perl runs what it puts in as code: s/…/…/ee.
func evaluates(code string) bool {
	for _, flags := range substitutions(code) {
		if strings.Count(flags, "e") > 1 {
			return true
		}
	}
	return false
}

// Replacements are what substitutions of Perl put in, a line each.
func Replacements(code string) string {
	var b strings.Builder
	for put := range substitutions(code) {
		b.WriteString(put + "\n")
	}
	return b.String()
}

// substitutions are those of Perl: what they put in, and their flags.
func substitutions(code string) iter.Seq2[string, string] {
	return func(yield func(put, flags string) bool) {
		for at := 0; at+1 < len(code); at++ {
			if code[at] != 's' || at > 0 && (wordByte(code[at-1]) || strings.IndexByte("$@%>", code[at-1]) >= 0) {
				continue
			}
			matched, ok := delimited(code[at+1:])
			if !ok {
				continue
			}
			rest, ok := delimited(matched)
			if !ok {
				continue
			}
			put := strings.TrimLeft(matched[:len(matched)-len(rest)], " ")[1:]
			if strings.IndexByte("({[<", matched[0]) < 0 {
				rest = rest[1:] // the last delimiter
			} else {
				put = put[:len(put)-1]
			}
			if !yield(put, rest[:len(rest)-len(strings.TrimLeft(rest, "acdegilmnoprsux"))]) {
				return
			}
		}
	}
}

// delimited skips one part of a quoting operator. What follows a part begins with the delimiter again, unless that is a bracket.
func delimited(code string) (rest string, ok bool) {
	code = strings.TrimLeft(code, " ")
	if code == "" || wordByte(code[0]) || strings.IndexByte(" \t\n;=)", code[0]) >= 0 {
		return "", false
	}
	opening, closing := code[0], code[0]
	if i := strings.IndexByte("({[<", opening); i >= 0 {
		closing = ")}]>"[i]
	}
	depth := 0
	for i := 1; i < len(code); i++ {
		switch {
		case code[i] == '\\':
			i++
		case code[i] == closing && depth == 0:
			if opening == closing {
				return code[i:], true
			}
			return code[i+1:], true
		case code[i] == closing:
			depth--
		case code[i] == opening:
			depth++
		}
	}
	return "", false
}
