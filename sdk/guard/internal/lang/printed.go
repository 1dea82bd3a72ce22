package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// shows are calls that print a string.
var shows = pattern.New(`\b(?:print|puts|say|echo|console\.(?:log|info)|process\.stdout\.write|sys\.stdout\.write|io\.write|STDOUT\.puts|\$stdout\.puts|write)\b\s*\(?\s*"(\d+)"`)

// Printed is what code is seen to print: the constants that its calls print, a line each. It is only asked for where somebody may
// run that.
func Printed(language, code string) string {
	var out strings.Builder
	if language == "awk" {
		tokens := awkConstants(awkTokens(code))
		for i, t := range tokens {
			if t.kind == 'a' && (t.text == "print" || t.text == "printf") && i+1 < len(tokens) && tokens[i+1].kind == '"' {
				out.WriteString(strings.TrimSuffix(tokens[i+1].text, "\n") + "\n")
			}
		}
		return out.String()
	}
	s := strip(language, code)
	left := maxNested
	s.left = &left
	s.fold(language)
	for _, m := range shows.FindAllStringSubmatch(s.worth(shows)) {
		if text, ok := s.text(m[1]); ok {
			out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return out.String()
}
