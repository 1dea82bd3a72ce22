package lang

import (
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	// composesText is an expression of Python's that makes a text of strings, or of numbers.
	composesText = pattern.New(`"\d+"\s*\.\s*join\s*\(\s*[\[(]|\b(?:bytes|bytearray|chr)\s*\(|\bb(?:64|32|85|16)decode\b|\bunhexlify\b|\bfromhex\b`)
	// composesOther is an expression that makes another text of a string.
	composesOther = pattern.New(`"\d+"\s*\)*\s*(?:\[|\.\s*(?:replace\w*|slice!?|substr\w*|split|r?partition|at|charAt|padStart|padEnd|repeat|translate|swapcase|g?sub|tr|lower|upper|downcase|upcase|capitalize|title|reverse|toLowerCase|toUpperCase|remove\w+|[lr]?strip|trim\w*|chars|each_char|unpack\w*|delete|squeeze|match\w*)\s*[!(\s.)])`)
	// leavesText is a method that makes nothing else of a text than it is.
	leavesText = pattern.New(`\.\s*(?:(?:trim(?:Start|End)?|[lr]?strip|to_s)\s*\(\s*\)|(?:encode|toString)\s*\(\s*(?:"\d+"\s*)?\))`)
	// dedents is a function that only moves the lines of a text.
	dedents = pattern.New(`\b(?:textwrap\s*\.\s*dedent|inspect\s*\.\s*cleandoc|dedent|cleandoc)\s*\(`)
	// composesPerl is what makes another text of those that it gets.
	composesPerl = pattern.New(`\b(?:join|lc|uc|lcfirst|ucfirst|reverse|sprintf|substr|chr|pack|map|split)\b`)
)

// content is what code writes to a file.
type content struct {
	pieces []string
	size   int
	wholes int // of these may be all that is in the file
}

func (c *content) add(piece string, whole bool) {
	if c.size += len(piece); c.size >= maxConstant {
		return
	}
	c.pieces = append(c.pieces, piece)
	if whole {
		c.wholes++
	}
}

// text is what the file may hold: the pieces behind one another, and if it is written anew, each by itself.
func (c *content) text() string {
	text := strings.Join(c.pieces, "")
	if c.wholes > 1 {
		text += "\n" + strings.Join(c.pieces, "\n")
	}
	return text
}

// template is the string that is made of others at a place, with a mark for what isn't known of it; "" if it is a plain one, or nothing of it
// is known.
func (s *skeleton) template(at int) string {
	expression, _ := s.upToComma(at)
	if !s.looks(len(expression)) || onlyString.MatchString(expression) || !strings.Contains(expression, `"`) {
		return ""
	}
	expression = leavesText.ReplaceAllString(expression, "")
	if s.language == "python" && !strings.Contains(s.code, "def dedent") {
		expression = dedents.ReplaceAllString(expression, "(")
	}
	between := " "
	if strings.HasPrefix(strings.TrimSpace(expression), "[") {
		between = "\n" // lines, as often as not
	}
	text := strings.Join(s.parts(expression), between)
	switch {
	case composesOther.MatchString(expression):
		return shell.Unknown
	case strings.IndexFunc(strings.ReplaceAll(text, shell.Item, ""), unicode.IsLetter) >= 0:
		return text
	case s.language == "python" && composesText.MatchString(expression):
		return shell.Unknown
	}
	return ""
}

// several is what Perl prints of several texts at a place, with a mark for what isn't known of it; "" if it is one plain string, or nothing
// of it is known.
func (s *skeleton) several(at int) string {
	list := strings.TrimSpace(s.toItsEnd(at))
	if !s.looks(len(list)) || onlyString.MatchString(list) || !strings.Contains(list, `"`) {
		return ""
	}
	if composesPerl.MatchString(list) {
		return shell.Unknown
	}
	text := strings.Join(s.parts(list), "")
	if strings.IndexFunc(strings.ReplaceAll(text, shell.Item, ""), unicode.IsLetter) < 0 {
		return ""
	}
	return text
}
