package inline

import "strings"

// sed walks over a sed script.
type sed struct {
	code string
	at   int
	out  []Effect
}

// sedEffects returns what a sed script does: e runs commands, r and R read files, w and W write them.
func sedEffects(code string) []Effect {
	s := &sed{code: code}
	for s.at < len(code) {
		s.command()
	}
	return s.out
}

func (s *sed) peek() byte {
	if s.at < len(s.code) {
		return s.code[s.at]
	}
	return 0
}

func (s *sed) skip(chars string) {
	for s.at < len(s.code) && strings.IndexByte(chars, s.code[s.at]) >= 0 {
		s.at++
	}
}

// until returns what stands before the next unescaped delimiter and steps over it.
func (s *sed) until(delimiter byte) string {
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

// line returns the rest of the line.
func (s *sed) line() string {
	rest := s.code[s.at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	s.at += len(rest)
	return strings.TrimSpace(rest)
}

// address steps over what stands before a command.
func (s *sed) address() {
	for {
		s.skip(" \t;\n0123456789,$+~!}{")
		switch s.peek() {
		case '/':
			s.at++
			s.until('/')
		case '\\':
			if s.at+1 >= len(s.code) {
				s.at++
				return
			}
			delimiter := s.code[s.at+1]
			s.at += 2
			s.until(delimiter)
		default:
			return
		}
		s.skip("IM")
	}
}

// command reads one command.
func (s *sed) command() {
	s.address()
	if s.at >= len(s.code) {
		return
	}
	c := s.code[s.at]
	s.at++
	switch c {
	case '#':
		s.line()
	case 's':
		s.substitute()
	case 'y':
		if delimiter := s.peek(); delimiter != 0 {
			s.at++
			s.until(delimiter)
			s.until(delimiter)
		}
	case 'a', 'i', 'c':
		for strings.HasSuffix(s.line(), `\`) && s.at < len(s.code) {
			s.at++
		}
	case 'r', 'R':
		s.out = append(s.out, Effect{Kind: Read, Text: s.line()})
	case 'w', 'W':
		s.out = append(s.out, Effect{Kind: Write, Text: s.line()})
	case 'e':
		if command := s.line(); command != "" {
			s.out = append(s.out, Effect{Kind: Shell, Text: command})
		} else {
			s.out = append(s.out, Effect{Kind: Computed, Text: "sed's e runs its input as commands"})
		}
	case ':', 'b', 't', 'T':
		for s.at < len(s.code) && s.peek() != ';' && s.peek() != '\n' && s.peek() != '}' {
			s.at++
		}
	}
}

// substitute reads the command s with its flags.
func (s *sed) substitute() {
	delimiter := s.peek()
	if delimiter == 0 {
		return
	}
	s.at++
	s.until(delimiter)
	replacement := s.until(delimiter)
	for s.at < len(s.code) {
		switch c := s.code[s.at]; {
		case c == 'e':
			s.at++
			s.out = append(s.out, Effect{Kind: Computed, Text: "sed's flag e runs the result of s as a command"},
				Effect{Kind: Shell, Text: replacement})
		case c == 'w':
			s.at++
			s.out = append(s.out, Effect{Kind: Write, Text: s.line()})
			return
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			s.at++
		default:
			return
		}
	}
}
