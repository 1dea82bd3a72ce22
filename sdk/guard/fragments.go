package guard

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// quotedPart is a string of JSON.
var quotedPart = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// fragments decides on what was put into a file of which the rest isn't known, and which holds commands among other things: each line of a
// makefile, or each string of a package's, may be one. What is no line of the shell, or names its program by a variable, is none.
func (a *analysis) fragments(c *shell.Call, language, text string) {
	if language != "make" && language != "npm" {
		return
	}
	before := a.guessing
	a.guessing = true
	defer func() { a.guessing = before }()
	for line := range strings.Lines(text) {
		parts := []string{strings.TrimLeft(strings.TrimSpace(line), "@-+")}
		if language == "npm" {
			for _, m := range quotedPart.FindAllStringSubmatch(line, -1) {
				parts = append(parts, m[1])
			}
		}
		for _, part := range parts {
			if first, _, more := strings.Cut(part, " "); more && !strings.ContainsAny(first, "$`(){}:=\"") && shell.Parses(part) {
				c.Code(part, nil)
			}
		}
	}
}
