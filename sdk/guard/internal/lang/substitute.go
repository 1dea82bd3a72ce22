package lang

import (
	"regexp"
	"strings"
)

// Substituted is what a sed script makes of a text, if all that it does is to substitute plain texts for patterns that mean the
// same to Go. Extended says which syntax the patterns have.
func Substituted(script, text string, extended bool) (string, bool) {
	s := &sed{code: script}
	for {
		s.skip(" \t\n;")
		if s.at >= len(script) {
			return text, true
		}
		if s.peek() != 's' || s.at+2 >= len(script) {
			return "", false
		}
		delimiter := script[s.at+1]
		s.at += 2
		from, to := s.until(delimiter), s.until(delimiter)
		start := s.at
		for s.at < len(script) && strings.IndexByte(" \t\n;}", script[s.at]) < 0 {
			s.at++
		}
		flags := script[start:s.at]
		unescape := func(text string) string { return strings.ReplaceAll(text, `\`+string(delimiter), string(delimiter)) }
		re, ok := sedPattern(unescape(from), extended, strings.ContainsAny(flags, "iI"))
		if to = unescape(to); !ok || strings.ContainsAny(to, "&\\\n") || strings.Trim(flags, "giI") != "" {
			return "", false
		}
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			if line == "" {
				continue // behind the last line
			}
			body, end := strings.CutSuffix(line, "\n")
			if strings.Contains(flags, "g") {
				body = re.ReplaceAllLiteralString(body, to)
			} else if at := re.FindStringIndex(body); at != nil {
				body = body[:at[0]] + to + body[at[1]:]
			}
			if lines[i] = body; end {
				lines[i] += "\n"
			}
		}
		if text = strings.Join(lines, ""); len(text) > maxSubstituted {
			return "", false
		}
	}
}

// maxSubstituted is how long a text may become.
const maxSubstituted = 16 << 10

// maxPattern is how long a pattern is that is followed.
const maxPattern = 256

// sedPattern is a pattern of sed's, if it is a plain one.
func sedPattern(pattern string, extended, fold bool) (*regexp.Regexp, bool) {
	if pattern == "" || strings.ContainsAny(pattern, `[]`) {
		return nil, false
	}
	var b strings.Builder
	if fold {
		b.WriteString("(?i)")
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && strings.IndexByte(`.*^$/\-`, pattern[i+1]) >= 0:
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '\\' && i+1 < len(pattern) && pattern[i+1] == 'r':
			i++
			b.WriteString(`\r`)
		case c == '\\':
			return nil, false
		case !extended && strings.IndexByte("+?(){}|", c) >= 0:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	re, err := regexp.Compile(b.String())
	if err != nil || len(pattern) > maxPattern {
		return nil, false
	}
	re.Longest() // as in POSIX
	return re, true
}
