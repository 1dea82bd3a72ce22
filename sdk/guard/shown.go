package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// shown is a simple command for people: in its canonical form, but with the words that can't be known as they stand in the text.
func shown(c *shell.Call, argv []string) string {
	if !shell.HasUnknown(strings.Join(argv, " ")) {
		return canonical(argv)
	}
	written := c.Words()
	written = written[max(0, len(written)-len(argv)):] // without what starts the command
	words := make([]string, len(argv))
	for i, arg := range argv {
		switch {
		case !shell.HasUnknown(arg):
			words[i] = canonical([]string{arg})
			if len(written) == len(argv) && strings.Trim(written[i], `"'`) != arg {
				return guessed(argv) // the words aren't the same ones
			}
		case len(written) == len(argv):
			words[i] = written[i]
		default:
			return guessed(argv)
		}
	}
	return strings.Join(words, " ")
}

// guessed is a simple command with dots for what can't be known.
func guessed(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = marks.Replace(strings.ReplaceAll(arg, shell.Unset, "…"))
		if strings.TrimFunc(words[i], func(r rune) bool { return strings.ContainsRune("…{}", r) }) == "" && words[i] != "" {
			continue
		}
		if quoted, err := syntax.Quote(words[i], syntax.LangBash); err == nil {
			words[i] = quoted
		}
	}
	return strings.Join(words, " ")
}
