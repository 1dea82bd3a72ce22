package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// shows are calls that print a string.
var shows = pattern.New(`\b(?:print|puts|say|echo|console\.(?:log|info)|process\.stdout\.write|sys\.stdout\.write|io\.write|STDOUT\.puts|\$stdout\.puts|write)\b\s*\(?\s*"(\d+)"`)

// printed is what code is seen to print: the constants that its calls print, a line each.
func (s *skeleton) printed() []Effect {
	var out strings.Builder
	for _, m := range shows.FindAllStringSubmatch(s.worth(shows)) {
		if text, ok := s.text(m[1]); ok {
			out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return prints(out.String())
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
	for i, t := range tokens {
		if t.kind == 'a' && (t.text == "print" || t.text == "printf") && i+1 < len(tokens) && tokens[i+1].kind == '"' {
			out.WriteString(strings.TrimSuffix(tokens[i+1].text, "\n") + "\n")
		}
	}
	return prints(out.String())
}
