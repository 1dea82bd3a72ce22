// Package pattern has regular expressions that are compiled when they are first used, and that look at a text only where it
// has one of the words that they would need to match. The guard has many of them, a command needs few, and most texts match
// none.
package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression. It may be used concurrently.
type Pattern struct {
	compiled func() compiled
	re       func() *regexp.Regexp
}

// compiled is how an expression is looked for.
type compiled struct {
	words  []string // every match holds one of them; none if there are no such
	starts *starts  // nil if matches may begin anyhow
}

// New returns the pattern of an expression, which has to be a valid one.
func New(expr string) *Pattern {
	return &Pattern{
		compiled: sync.OnceValue(func() compiled { return compiled{words: required(expr), starts: startsOf(expr)} }),
		re:       sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }),
	}
}

// find returns where the first match is that begins at a place or behind it, and where its groups are, or nil. What is
// before the place is not looked at but for whether a word begins there.
func (p *Pattern) find(text string, at int) []int {
	c := p.compiled()
	if c.starts == nil {
		panic("pattern: an expression without starts has to look at the whole text")
	}
	tries := maxTries
	if len(text)-at > maxNear {
		tries = 0
	}
	for at = c.starts.next(text, at); at >= 0; at = c.starts.next(text, at+1) {
		if tries == 0 {
			return moved(p.re().FindStringSubmatchIndex(text[at:]), at)
		}
		tries--
		if m := c.starts.anchored.FindStringSubmatchIndex(text[at:]); m != nil {
			return moved(m, at)
		}
	}
	return nil
}

// moved are places in a part of a text, as places in the whole.
func moved(places []int, by int) []int {
	for i := range places {
		if places[i] >= 0 {
			places[i] += by
		}
	}
	return places
}

// may says whether something in the text may match.
func (c *compiled) may(text string) bool {
	for _, word := range c.words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return len(c.words) == 0
}

// The methods are those of [regexp.Regexp].

// MatchString says whether something in the text matches.
func (p *Pattern) MatchString(text string) bool {
	c := p.compiled()
	if c.starts != nil {
		return p.find(text, 0) != nil
	}
	return c.may(text) && p.re().MatchString(text)
}

// FindString returns the first match, or "".
func (p *Pattern) FindString(text string) string {
	if m := p.FindStringSubmatchIndex(text); m != nil {
		return text[m[0]:m[1]]
	}
	return ""
}

// FindStringIndex returns where the first match is, or nil.
func (p *Pattern) FindStringIndex(text string) []int {
	if m := p.FindStringSubmatchIndex(text); m != nil {
		return m[:2]
	}
	return nil
}

// FindStringSubmatch returns the first match and its groups, or nil.
func (p *Pattern) FindStringSubmatch(text string) []string {
	return Groups(text, p.FindStringSubmatchIndex(text))
}

// FindStringSubmatchIndex returns where the first match and its groups are, or nil.
func (p *Pattern) FindStringSubmatchIndex(text string) []int {
	c := p.compiled()
	if c.starts != nil {
		return p.find(text, 0)
	}
	if !c.may(text) {
		return nil
	}
	return p.re().FindStringSubmatchIndex(text)
}

// FindAllStringIndex returns where all matches are.
func (p *Pattern) FindAllStringIndex(text string) [][]int {
	all := p.FindAllStringSubmatchIndex(text)
	for i, m := range all {
		all[i] = m[:2]
	}
	return all
}

// FindAllStringSubmatch returns all matches with their groups.
func (p *Pattern) FindAllStringSubmatch(text string) [][]string {
	var all [][]string
	for _, m := range p.FindAllStringSubmatchIndex(text) {
		all = append(all, Groups(text, m))
	}
	return all
}

// FindAllStringSubmatchIndex returns where all matches and their groups are.
func (p *Pattern) FindAllStringSubmatchIndex(text string) [][]int {
	c := p.compiled()
	switch {
	case c.starts == nil && c.may(text):
		return p.re().FindAllStringSubmatchIndex(text, -1)
	case c.starts == nil:
		return nil
	}
	var all [][]int
	for m := p.find(text, 0); m != nil; m = p.find(text, m[1]) { // a match has at least the word that it begins with
		all = append(all, m)
	}
	return all
}

// ReplaceAllString replaces all matches.
func (p *Pattern) ReplaceAllString(text, by string) string {
	return p.replace(text, func(out []byte, m []int) []byte { return p.re().ExpandString(out, by, text, m) })
}

// ReplaceAllStringFunc replaces each match by what a function makes of it.
func (p *Pattern) ReplaceAllStringFunc(text string, by func(string) string) string {
	return p.replace(text, func(out []byte, m []int) []byte { return append(out, by(text[m[0]:m[1]])...) })
}

// replace puts what by appends in the place of each match.
func (p *Pattern) replace(text string, by func(out []byte, m []int) []byte) string {
	all := p.FindAllStringSubmatchIndex(text)
	if all == nil {
		return text
	}
	var out []byte
	done := 0
	for _, m := range all {
		out = by(append(out, text[done:m[0]]...), m)
		done = m[1]
	}
	return string(append(out, text[done:]...))
}

// Groups are the texts at the places of a match and its groups; nil if there is no match.
func Groups(text string, places []int) []string {
	if places == nil {
		return nil
	}
	out := make([]string, len(places)/2)
	for i := range out {
		if places[2*i] >= 0 {
			out[i] = text[places[2*i]:places[2*i+1]]
		}
	}
	return out
}
