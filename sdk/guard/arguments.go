package guard

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// ownArguments is where code asks for the arguments that it was given.
var ownArguments = pattern.New(`\b(?:sys\s*\.\s*argv|process\s*\.\s*argv|from\s+sys\s+import[^\n]*\bargv|ARGV|parse_args|parse_known_args)\b|[$@]ARGV\b|\$argv\b|\$_SERVER\b|\bshift\b|\barg\s*\[`)

// handed are the words of a command behind the code, or behind the file that it is in.
func handed(c *shell.Call, code string) []string {
	words := c.Texts()[1:]
	if at := slices.Index(words, code); at >= 0 {
		return words[at+1:]
	}
	for i, word := range words {
		if !strings.HasPrefix(word, "-") {
			return words[i+1:]
		}
	}
	return nil
}

// withArguments is what code starts with arguments of its own behind, or in the place of what isn't known. False if there are none.
func withArguments(e lang.Effect, words []string) (given lang.Effect, ok bool) {
	unknown := func(text string) bool {
		return strings.Contains(text, shell.Item) || strings.Contains(text, shell.Unknown)
	}
	switch {
	case len(words) == 0:
		return e, false
	case e.Kind == lang.Argv && len(e.Argv) > 0 && !unknown(e.Argv[0]): // else it asks anyway
		e.Argv = append(slices.DeleteFunc(slices.Clone(e.Argv), unknown), words...)
		return e, true
	case e.Kind == lang.Shell && unknown(e.Text):
		e.Text = strings.NewReplacer(shell.Item, strings.Join(words, " "), shell.Unknown, strings.Join(words, " ")).Replace(e.Text)
		return e, true
	}
	return e, false
}
