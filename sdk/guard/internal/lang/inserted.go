package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// operators are what separates commands in shell code.
const operators = ";|&`\n"

// maxSegments is how many parts of strings are followed that may be put into shell code.
const maxSegments = 64

// variableIn is where Perl and PHP put a variable into a string.
var variableIn = pattern.New(`\$[A-Za-z_{]|@[A-Za-z_{]`)

// inserted marks the shell code that code puts something into, and adds what else may run then: what stands behind an operator in
// another string of the code.
func (s *skeleton) inserted(effects []Effect) []Effect {
	some := false
	for i, e := range effects {
		if e.Kind == Shell && s.putsInto(e.Text) {
			effects[i].Inserted, some = true, true
		}
	}
	if !some {
		return effects
	}
	if decodes.MatchString(s.all()) {
		effects = append(effects, Effect{Kind: Dynamic, Text: "what it decodes may become a part of shell code"})
	}
	left := maxSegments
	for i, l := range s.literals {
		at := strings.IndexAny(l.text, operators+"$")
		if at < 0 || len(l.text) > maxConstant {
			continue
		}
		rest := strings.TrimLeft(l.text[at:], operators+"$( ")
		if i+1 < len(s.literals) && rest != "" && !strings.Contains(rest, " ") {
			rest += s.literals[i+1].text // which may be added to it
		}
		for _, segment := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(operators+"$()<>", r) }) {
			if segment = strings.Trim(segment, " \t\r\"'"); !commandLike(segment) && !programName.MatchString(segment) {
				continue
			}
			if left--; left < 0 {
				return append(effects, Effect{Kind: Dynamic, Text: "more strings than are followed may become a part of shell code"})
			}
			effects = append(effects, Effect{Kind: Shell, Text: strings.ToLower(segment)})
		}
	}
	return effects
}

// putsInto says whether something is put into a string that is shell code.
func (s *skeleton) putsInto(text string) bool {
	return strings.Contains(text, shell.Item) || (s.language == "perl" || s.language == "php") && variableIn.MatchString(text)
}
