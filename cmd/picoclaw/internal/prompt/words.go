package prompt

import (
	"errors"
	"strings"
)

// SplitLine splits a line into words at white space, with the quotes and backslashes of a shell but no other shell
// syntax. A word that begins with { extends to the end of the line, because it is JSON.
func SplitLine(line string) ([]string, error) {
	s := wordSplitter{}
	s.splitLine(line)
	if s.quote != 0 || s.escaped {
		return nil, errors.New("the line has an unclosed quote or a final backslash")
	}
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	return s.words, nil
}

// SplitIncompleteLine splits a line into its words and an incomplete last word. ok is false if that word has quotes.
func SplitIncompleteLine(line string) (before []string, last string, ok bool) {
	s := wordSplitter{}
	s.splitLine(line)
	return s.words, s.word.String(), !s.quoted
}

type wordSplitter struct {
	words   []string
	word    strings.Builder
	begun   bool // there is a word, although it may be empty
	quote   rune // that is open
	escaped bool
	quoted  bool // the word has quotes or backslashes in it
	raw     bool // the rest is one word, as it stands
}

func (s *wordSplitter) splitLine(line string) {
	for _, r := range line {
		switch {
		case s.raw:
			s.word.WriteRune(r)
		case s.escaped:
			if s.quote == '"' && !strings.ContainsRune(`"\$`+"`", r) {
				s.word.WriteRune('\\')
			}
			s.word.WriteRune(r)
			s.escaped = false
		case r == '\\' && s.quote != '\'':
			s.escaped, s.begun, s.quoted = true, true, true
		case s.quote != 0:
			if r == s.quote {
				s.quote = 0
			} else {
				s.word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			s.quote, s.begun, s.quoted = r, true, true
		case r == ' ' || r == '\t' || r == '\r' || r == '\n':
			s.endWord()
		default:
			s.raw = r == '{' && !s.begun && len(s.words) > 0
			s.begun = true
			s.word.WriteRune(r)
		}
	}
}

func (s *wordSplitter) endWord() {
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.begun, s.quoted = false, false
}
