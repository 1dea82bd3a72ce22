package prompt

import (
	"errors"
	"strings"
)

// Split takes a line apart at white space, as a shell does with quotes and backslashes, and does nothing else that
// shells do. A word that begins with { goes to the end of the line: it is JSON.
func Split(line string) ([]string, error) {
	s := lineSplitter{}
	s.readLine(line)
	if s.quote != 0 || s.escaped {
		return nil, errors.New("a quote or backslash in the line has no end")
	}
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	return s.words, nil
}

// SplitOpen takes the beginning of a line apart: into the words before, and the last one, which may go on. It is not ok
// if that one has quotes in it.
func SplitOpen(line string) (before []string, last string, ok bool) {
	s := lineSplitter{}
	s.readLine(line)
	return s.words, s.word.String(), !s.quoted
}

type lineSplitter struct {
	words   []string
	word    strings.Builder
	begun   bool // there is a word, although it may be empty
	quote   rune // that is open
	escaped bool
	quoted  bool // the word has quotes or backslashes in it
	raw     bool // the rest is one word, as it stands
}

func (s *lineSplitter) readLine(line string) {
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

func (s *lineSplitter) endWord() {
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.begun, s.quoted = false, false
}
