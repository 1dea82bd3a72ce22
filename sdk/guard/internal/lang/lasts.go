package lang

import "strings"

// states says whether a change is a statement of its own, or begins a block that it counts for.
func (s *skeleton) states(language string, c *change) bool {
	before, behind := s.code[:c.from], s.code[c.to:]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if language == "python" {
		words := strings.Fields(line)
		if len(words) == 1 && words[0] == "with" && asBlock.MatchString(behind) {
			c.until = s.dedented(c.to, c.indent)
			return true
		}
		first := ""
		if len(words) > 0 {
			first = strings.TrimRight(words[0], ":")
		}
		return strings.TrimSpace(line[strings.LastIndexByte(line, ';')+1:]) == "" && !compound[first] && ending.MatchString(behind)
	}
	if !s.looks(len(before)) || !beginsOne(before) {
		return false
	}
	switch language {
	case "ruby":
		if parted.MatchString(line) {
			return false
		}
		if rest := strings.TrimLeft(behind, " \t"); strings.HasPrefix(rest, "{") {
			c.until = s.closing(len(s.code) - len(rest))
			return true
		} else if strings.HasPrefix(rest, "do") && strings.Contains(rest, "\n") && !wordByte(rest[2]) {
			c.until = s.dedented(c.to, c.indent)
			return true
		}
	case "perl", "php":
		rest, _, _ := strings.Cut(behind, ";")
		return failing.MatchString(behind) && !conditional.MatchString(rest)
	}
	return ending.MatchString(behind)
}

// beginsOne says whether a statement begins behind code, which is no part of another one.
func beginsOne(before string) bool {
	trimmed := strings.TrimRight(before, " \t\n")
	if trimmed == "" || strings.IndexByte(";{}", trimmed[len(trimmed)-1]) >= 0 {
		return true
	}
	last := trimmed[len(trimmed)-1]
	switch {
	case len(trimmed) == len(strings.TrimRight(before, " \t")): // the line goes on
		return false
	case last == ')':
		open := opening(trimmed)
		return open >= 0 && !guards[wordBefore(trimmed[:open]+" ")]
	case last == '"' || last == ']':
		return true
	}
	return wordByte(last) && !guards[wordBefore(trimmed+" ")]
}

// dedented is where the first line behind a place begins that is indented no more than so much.
func (s *skeleton) dedented(at, indent int) int {
	for {
		end := strings.IndexByte(s.code[at:], '\n')
		if end < 0 {
			return len(s.code)
		}
		at += end + 1
		line, _, _ := strings.Cut(s.code[at:], "\n")
		if text := strings.TrimLeft(line, " \t"); text != "" && len(line)-len(text) <= indent {
			return at
		}
	}
}

// rules says whether a change has certainly been made at a place behind it, and not been taken back by the end of its block.
func (s *skeleton) rules(language string, c change, at int) bool {
	if at < c.to || !s.looks(at-c.to) {
		return false
	}
	if c.until > 0 {
		return at < c.until && (language != "ruby" || s.code[c.until-1] == '}' || !closed.MatchString(s.code[c.to:at]))
	}
	switch language {
	case "python":
		return s.dedented(c.to, c.indent-1) > at
	case "ruby":
		if closed.MatchString(s.code[c.to:at]) {
			return false
		}
	}
	var open []int
	for i := c.to; i < at; i++ {
		switch s.code[i] {
		case '{':
			open = append(open, i)
		case '}':
			if len(open) == 0 {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	for _, brace := range open {
		if hoisted.MatchString(s.code[max(0, brace-maxTold):brace]) {
			return false
		}
	}
	return true
}

// repeated says whether what stands at a place may run more than once, or later than where it stands.
func (s *skeleton) repeated(language string, at int) bool {
	if !s.looks(2 * at) {
		return true
	}
	switch language {
	case "python":
		return s.repeatedByLines(at)
	case "ruby":
		return looping.MatchString(s.code[:at])
	case "node":
		if later.MatchString(s.code) {
			return true
		}
	}
	var open []int
	for i := range at {
		switch s.code[i] {
		case '{':
			open = append(open, i)
		case '}':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	for _, brace := range open {
		if !once.MatchString(s.code[max(0, brace-maxTold):brace]) {
			return true
		}
	}
	return false
}

// repeating are the words that begin blocks of Python's that may run more than once, or later.
var repeating = names(`def async for while class`)

// repeatedByLines is repeated for Python, where indentation tells what a line is in.
func (s *skeleton) repeatedByLines(at int) bool {
	indent := -1
	for end := at; ; {
		start := strings.LastIndexByte(s.code[:end], '\n') + 1
		line := s.code[start:end]
		text := strings.TrimLeft(line, " \t")
		if words := strings.Fields(text); len(words) > 0 && (indent < 0 || len(line)-len(text) < indent) {
			if indent = len(line) - len(text); repeating[words[0]] || strings.Contains(text, "lambda") {
				return true
			}
		}
		if start == 0 || indent == 0 {
			return false
		}
		end = start - 1
	}
}
