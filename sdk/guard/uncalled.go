package guard

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// findsNames is code, or a command, that may come by a function otherwise than by its name.
	findsNames = pattern.New(`\b(?:getattr|__getattr\w*__|vars|globals|locals|__dict__|inspect|getmembers|attrgetter|methodcaller|gc|Object|Reflect|eval|exec)\b|\]\s*\(|\bin\s+require\b|\bimport\s*\*\s*as\b|\bdefault\b`)
	// verbOf is what stands before a verb of a program's, and commandWord where a command begins; asWord is what stands behind the name of
	// a program then. Code that means a function has none of them.
	verbOf      = pattern.New(`(?:^|[\n;&|(])[ \t]*(?:npm|pnpm|yarn|bun|deno|uv|poetry|pdm|pipenv|hatch|rye|conda|go|cargo|make|just|task|docker|compose|git|gh|npx|poe|nox|tox)[ \t]+$`)
	commandWord = pattern.New(`(?:^|[\n;&|(])[ \t]*$`)
	asWord      = pattern.New(`^[ \t]+[-\w./"'$]`)
	asOperator  = pattern.New(`^[ \t]+(?:as|if|else|for|or|and|in|is|not|of|instanceof)\b`)
)

// maxBefore is how much is looked at before a word.
const maxBefore = 32

func isWord(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' }

// isUncalled says whether a function that code from a file defines, and doesn't call itself, isn't called by anything else in the command
// either: then only what was there before may call it, as it may call whatever is in a script.
func (a *analysis) isUncalled(function, code string) bool {
	before, behind, found := strings.Cut(a.text, code)
	if !found || function == "" || strings.Contains(behind, code) {
		return false
	}
	for _, rest := range []string{before, behind} {
		if findsNames.MatchString(rest) {
			return false
		}
		for at := 0; ; {
			next := strings.Index(rest[at:], function)
			if next < 0 {
				break
			}
			at += next
			end := at + len(function)
			if (at == 0 || !isWord(rest[at-1])) && (end == len(rest) || !isWord(rest[end])) && !isProgram(rest, at, end) {
				return false
			}
			at = end
		}
	}
	return true
}

// isProgram says whether a word of a text is that of a program, of a verb of one, or a part of a path, rather than the name of a function.
func isProgram(text string, at, end int) bool {
	before, behind := text[max(0, at-maxBefore):at], text[end:]
	return verbOf.MatchString(before) || commandWord.MatchString(before) && asWord.MatchString(behind) && !asOperator.MatchString(behind) ||
		strings.HasSuffix(before, "/") && !strings.HasPrefix(behind, "(")
}
