package lang

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// literal is a string in a script.
type literal struct {
	text string
	tick bool // between backticks
	raw  bool // may hold interpolated variables

	template bool // JavaScript's strings between backticks
	regex    bool // a regular expression
}

// skeleton is code with its comments removed and every string literal replaced by "N", N its index.
type skeleton struct {
	language  string
	code      string
	literals  []literal
	pairs     *pattern.Pairs // of the code, once they are needed
	room      pattern.Pairs
	matched   int // the length of the regular expression that was found last
	unclosed  int // those that don't end
	started   []startedIn
	changes   changes
	left      *int // bytes of code in strings that may still be read
	looked    int  // bytes of code that were looked at again to see what is done with a string
	packing   bool // whether it makes an archive was looked at
	documents int  // here-documents that have begun

	functionsOf string // the code whose functions are in defined
	defined     []function
	objects     objects
	dataclasses map[string][]fieldOf // of Python's, by their names

	settledOf string // the code that isSettled is said of
	isSettled bool
}

// worth returns the code, or nothing if it is plain that nothing in it matches a pattern.
func (s *skeleton) worth(p *pattern.Pattern) string {
	if s.pairs == nil {
		s.room.Set(s.code)
		s.pairs = &s.room
	}
	if !p.May(s.pairs) {
		return ""
	}
	return s.code
}

// region returns the arguments of a call: up to the bracket that closes it, or to the end of the statement.
func (s *skeleton) region(at int) string {
	depth := 0
	for i := at; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth <= 0 {
				return s.code[at : i+1]
			}
		case ';', '\n':
			if depth == 0 {
				return s.code[at:i]
			}
		}
	}
	return s.code[at:]
}

// expand puts the literals back.
func (s *skeleton) expand(code string) string {
	return reference.ReplaceAllStringFunc(code, func(ref string) string {
		n, _ := strconv.Atoi(strings.Trim(ref, `"`))
		return s.literals[n].text
	})
}

// all is the code, and behind it the texts of its strings, each by itself.
func (s *skeleton) all() string {
	var b strings.Builder
	b.WriteString(s.code)
	for _, l := range s.literals {
		b.WriteByte('\n')
		b.WriteString(l.text)
	}
	return b.String()
}

// isOutput says whether a string of the code is what a command prints: it stands between backticks.
func (s *skeleton) isOutput(number string) bool {
	n, _ := strconv.Atoi(number)
	return s.literals[n].tick && !s.literals[n].template
}

// referenced are the literals in a part of the code.
func (s *skeleton) referenced(code string) []literal {
	var out []literal
	for _, m := range reference.FindAllStringSubmatch(code) {
		n, _ := strconv.Atoi(m[1])
		out = append(out, s.literals[n])
	}
	return out
}
