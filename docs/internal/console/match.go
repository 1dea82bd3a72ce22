package console

import (
	"regexp"
	"strings"
)

// omission stands for output that a page omits: part of a line, or any number of lines.
const omission = "…"

// columnGaps matches the spaces between columns, which depend on the length of paths.
var columnGaps = regexp.MustCompile(` {2,}`)

// MatchesOutput reports whether a page shows output. It ignores the number of spaces between words.
func MatchesOutput(want []string, output string) bool {
	return matchesLines(want, strings.Split(strings.TrimRight(output, "\n"), "\n"))
}

func matchesLines(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == omission {
		for skipped := 0; skipped <= len(got); skipped++ {
			if matchesLines(want[1:], got[skipped:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchesLine(want[0], got[0]) && matchesLines(want[1:], got[1:])
}

func matchesLine(want, got string) bool {
	parts := strings.Split(collapseSpaces(want), omission)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	pattern, err := regexp.Compile("^" + strings.Join(parts, ".*") + "$")
	return err == nil && pattern.MatchString(collapseSpaces(got))
}

func collapseSpaces(line string) string {
	return strings.TrimRight(columnGaps.ReplaceAllString(line, "  "), " ")
}
