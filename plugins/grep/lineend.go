package main

import (
	"regexp/syntax"
	"strings"
)

// lineEnds returns a pattern in which $ also means the place before \r\n, since that is where such a line ends for
// whoever reads it. The engines are all given the same: an option that only one of them has would make them differ.
func lineEnds(pattern string, multiline bool) string {
	if !strings.Contains(pattern, "$") {
		return pattern
	}
	// A line is searched by itself, so its end is the text's: with one meaning for both the pattern is as quick as before.
	parsed, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return pattern // which is told when it is compiled
	}
	return beforeCR(parsed, multiline).String()
}

// beforeCR has each end of a line take a carriage return before it, if it must.
func beforeCR(re *syntax.Regexp, multiline bool) *syntax.Regexp {
	for i, part := range re.Sub {
		re.Sub[i] = beforeCR(part, multiline)
	}
	dollar := re.Op == syntax.OpEndText && re.Flags&syntax.WasDollar != 0 // (?-m:$)
	if re.Op != syntax.OpEndLine && (!dollar || multiline) {
		return re
	}
	flags := re.Flags &^ syntax.WasDollar
	end := &syntax.Regexp{Op: syntax.OpEndLine, Flags: flags}
	cr := &syntax.Regexp{Op: syntax.OpLiteral, Flags: flags, Rune: []rune{'\r'}}
	perhaps := &syntax.Regexp{Op: syntax.OpQuest, Flags: flags | syntax.NonGreedy, Sub: []*syntax.Regexp{cr}}
	return &syntax.Regexp{Op: syntax.OpConcat, Flags: flags, Sub: []*syntax.Regexp{perhaps, end}}
}

// posixLineEnds does the same to a pattern that every dialect has in common, where $ always is the end of a line.
func posixLineEnds(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		case c == '$':
			b.WriteString("\r?$")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
