package console

import (
	"regexp"
	"strings"
)

// anything stands, in what a page shows, for output that it leaves out: within a line, or for any number of lines.
const anything = "…"

// spaces between columns depend on how long paths are.
var spaces = regexp.MustCompile(` {2,}`)

// Matches reports whether output is what a page shows. The number of spaces between words does not count.
func Matches(want []string, output string) bool {
	return matches(want, strings.Split(strings.TrimRight(output, "\n"), "\n"))
}

func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == anything {
		for skipped := 0; skipped <= len(got); skipped++ {
			if matches(want[1:], got[skipped:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && lineMatches(want[0], got[0]) && matches(want[1:], got[1:])
}

func lineMatches(want, got string) bool {
	parts := strings.Split(squeeze(want), anything)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	pattern, err := regexp.Compile("^" + strings.Join(parts, ".*") + "$")
	return err == nil && pattern.MatchString(squeeze(got))
}

func squeeze(line string) string { return strings.TrimRight(spaces.ReplaceAllString(line, "  "), " ") }
