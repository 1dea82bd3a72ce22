// Package pattern has regular expressions that are compiled when they are first used, and that look at a text only if it has
// one of the words that it would need to match. The guard has many of them, a command needs few, and most texts match none.
package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression. It may be used concurrently.
type Pattern struct{ compiled func() compiled }

// compiled is an expression with what every match of it holds one of; no words if there are none such.
type compiled struct {
	re    *regexp.Regexp
	words []string
}

// New returns the pattern of an expression, which has to be a valid one.
func New(expr string) *Pattern {
	return &Pattern{sync.OnceValue(func() compiled { return compiled{re: regexp.MustCompile(expr), words: required(expr)} })}
}

// in returns the expression, or nil if it is plain that nothing in the text matches.
func (p *Pattern) in(text string) *regexp.Regexp {
	c := p.compiled()
	if len(c.words) == 0 {
		return c.re
	}
	for _, word := range c.words {
		if strings.Contains(text, word) {
			return c.re
		}
	}
	return nil
}

// The methods are those of [regexp.Regexp].

// MatchString says whether something in the text matches.
func (p *Pattern) MatchString(text string) bool {
	re := p.in(text)
	return re != nil && re.MatchString(text)
}

// FindString returns the first match, or "".
func (p *Pattern) FindString(text string) string {
	if re := p.in(text); re != nil {
		return re.FindString(text)
	}
	return ""
}

// FindStringIndex returns where the first match is, or nil.
func (p *Pattern) FindStringIndex(text string) []int {
	if re := p.in(text); re != nil {
		return re.FindStringIndex(text)
	}
	return nil
}

// FindStringSubmatch returns the first match and its groups, or nil.
func (p *Pattern) FindStringSubmatch(text string) []string {
	if re := p.in(text); re != nil {
		return re.FindStringSubmatch(text)
	}
	return nil
}

// FindStringSubmatchIndex returns where the first match and its groups are, or nil.
func (p *Pattern) FindStringSubmatchIndex(text string) []int {
	if re := p.in(text); re != nil {
		return re.FindStringSubmatchIndex(text)
	}
	return nil
}

// FindAllStringIndex returns where all matches are.
func (p *Pattern) FindAllStringIndex(text string) [][]int {
	if re := p.in(text); re != nil {
		return re.FindAllStringIndex(text, -1)
	}
	return nil
}

// FindAllStringSubmatch returns all matches with their groups.
func (p *Pattern) FindAllStringSubmatch(text string) [][]string {
	if re := p.in(text); re != nil {
		return re.FindAllStringSubmatch(text, -1)
	}
	return nil
}

// FindAllStringSubmatchIndex returns where all matches and their groups are.
func (p *Pattern) FindAllStringSubmatchIndex(text string) [][]int {
	if re := p.in(text); re != nil {
		return re.FindAllStringSubmatchIndex(text, -1)
	}
	return nil
}

// ReplaceAllString replaces all matches.
func (p *Pattern) ReplaceAllString(text, by string) string {
	if re := p.in(text); re != nil {
		return re.ReplaceAllString(text, by)
	}
	return text
}

// ReplaceAllStringFunc replaces each match by what a function makes of it.
func (p *Pattern) ReplaceAllStringFunc(text string, by func(string) string) string {
	if re := p.in(text); re != nil {
		return re.ReplaceAllStringFunc(text, by)
	}
	return text
}
