package inline

import "strings"

// sedParser parses a sed script and collects its effects.
type sedParser struct {
	code    string
	at      int
	effects []CodeEffect
}

// findSedEffects returns the effects of a sed script: e runs commands, r and R read files, w and W write them.
func findSedEffects(code string) []CodeEffect {
	s := &sedParser{code: code}
	for s.at < len(code) {
		s.parseSedCommand()
	}
	return s.effects
}

func (s *sedParser) peekByte() byte {
	if s.at < len(s.code) {
		return s.code[s.at]
	}
	return 0
}

func (s *sedParser) skipChars(chars string) {
	for s.at < len(s.code) && strings.IndexByte(chars, s.code[s.at]) >= 0 {
		s.at++
	}
}

// readUntilDelimiter returns the text before the next unescaped delimiter, and skips the delimiter.
func (s *sedParser) readUntilDelimiter(delimiter byte) string {
	start := s.at
	for ; s.at < len(s.code); s.at++ {
		switch s.code[s.at] {
		case '\\':
			s.at++
		case delimiter:
			s.at++
			return s.code[start : s.at-1]
		}
	}
	s.at = len(s.code)
	return s.code[min(start, len(s.code)):]
}

func (s *sedParser) readRestOfLine() string {
	rest := s.code[s.at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	s.at += len(rest)
	return strings.TrimSpace(rest)
}

// skipAddress skips the address and separators before a command.
func (s *sedParser) skipAddress() {
	for {
		s.skipChars(" \t;\n0123456789,$+~!}{")
		switch s.peekByte() {
		case '/':
			s.at++
			s.readUntilDelimiter('/')
		case '\\':
			if s.at+1 >= len(s.code) {
				s.at++
				return
			}
			delimiter := s.code[s.at+1]
			s.at += 2
			s.readUntilDelimiter(delimiter)
		default:
			return
		}
		s.skipChars("IM")
	}
}

func (s *sedParser) parseSedCommand() {
	s.skipAddress()
	if s.at >= len(s.code) {
		return
	}
	c := s.code[s.at]
	s.at++
	switch c {
	case '#':
		s.readRestOfLine()
	case 's':
		s.parseSubstitution()
	case 'y':
		if delimiter := s.peekByte(); delimiter != 0 {
			s.at++
			s.readUntilDelimiter(delimiter)
			s.readUntilDelimiter(delimiter)
		}
	case 'a', 'i', 'c':
		for strings.HasSuffix(s.readRestOfLine(), `\`) && s.at < len(s.code) {
			s.at++
		}
	case 'r', 'R':
		s.effects = append(s.effects, CodeEffect{Kind: Read, Text: s.readRestOfLine()})
	case 'w', 'W':
		s.effects = append(s.effects, CodeEffect{Kind: Write, Text: s.readRestOfLine()})
	case 'e':
		if command := s.readRestOfLine(); command != "" {
			s.effects = append(s.effects, CodeEffect{Kind: Shell, Text: command})
		} else {
			s.effects = append(s.effects, CodeEffect{Kind: Computed, Text: "sed's e runs its input as commands"})
		}
	case ':', 'b', 't', 'T':
		for s.at < len(s.code) && s.peekByte() != ';' && s.peekByte() != '\n' && s.peekByte() != '}' {
			s.at++
		}
	}
}

// parseSubstitution parses the command s with its flags.
func (s *sedParser) parseSubstitution() {
	delimiter := s.peekByte()
	if delimiter == 0 {
		return
	}
	s.at++
	s.readUntilDelimiter(delimiter)
	replacement := s.readUntilDelimiter(delimiter)
	for s.at < len(s.code) {
		switch c := s.code[s.at]; {
		case c == 'e':
			s.at++
			s.effects = append(s.effects, CodeEffect{Kind: Computed, Text: "sed's flag e runs the result of s as a command"},
				CodeEffect{Kind: Shell, Text: replacement})
		case c == 'w':
			s.at++
			s.effects = append(s.effects, CodeEffect{Kind: Write, Text: s.readRestOfLine()})
			return
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			s.at++
		default:
			return
		}
	}
}
