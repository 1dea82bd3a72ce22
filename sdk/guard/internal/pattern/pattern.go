// Package pattern has regular expressions that are compiled when they are first used, and that look at a text only where it
// has one of the words that they would need to match. The guard has many of them, a command needs few, and most texts match
// none.
package pattern

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Pattern is a regular expression. It may be used concurrently.
type Pattern struct {
	words     func() []string       // every match holds one of them; none if there are no such
	automaton func() *automaton     // nil if there is none of the expression
	re        func() *regexp.Regexp // the expression
	begun     func() *regexp.Regexp // the expression at the beginning of a text
	behind    func() *regexp.Regexp // the expression behind the first character of a text, as the first group
}

// New returns the pattern of an expression, which has to be a valid one, and whole within brackets.
func New(expr string) *Pattern {
	compiled := func(expr string) func() *regexp.Regexp {
		return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	}
	return &Pattern{
		words:     sync.OnceValue(func() []string { return required(expr) }),
		automaton: sync.OnceValue(func() *automaton { return newAutomaton(expr) }),
		re:        compiled(expr),
		begun:     compiled(`\A(?:` + expr + `)`),
		behind:    compiled(`\A(?s:.)(` + expr + `)`),
	}
}

// maxReread is how often each character of a text is read at most, to find where a match begins.
const maxReread = 4

// find returns where the first match is that begins at a place or behind it, and where its groups are, or nil. It is not ok if
// that has to be left to the expression itself.
func (p *Pattern) find(text string, at int) (places []int, ok bool) {
	a := p.automaton()
	if a == nil {
		return nil, false
	}
	if found, ok := a.search(text, at); !found {
		return nil, ok
	}
	for left := maxReread * (len(text) - at + 1); ; {
		if !a.empty {
			at = a.skip(text, at)
		}
		end, found, ok := a.match(text, at)
		if left -= end - at; !ok || left < 0 {
			return nil, false
		}
		if found {
			return p.groups(text[:end], at), true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		if at += size; size == 0 {
			return nil, true
		}
	}
}

// groups returns the places of the match that begins at a place, and of its groups.
func (p *Pattern) groups(text string, at int) []int {
	if at == 0 {
		return p.begun().FindStringSubmatchIndex(text)
	}
	_, size := utf8.DecodeLastRuneInString(text[:at])
	at -= size
	places := p.behind().FindStringSubmatchIndex(text[at:])[2:]
	for i := range places {
		if places[i] >= 0 {
			places[i] += at
		}
	}
	return places
}

// maxWords is how many words are looked for at most before the expression itself is: with more, it is as quick.
const maxWords = 4

// may says whether something in the text may match.
func (p *Pattern) may(text string) bool {
	words := p.words()
	if len(words) > maxWords {
		return true
	}
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return len(words) == 0
}

// The methods are those of [regexp.Regexp].

// MatchString says whether something in the text matches.
func (p *Pattern) MatchString(text string) bool {
	if !p.may(text) {
		return false
	}
	if a := p.automaton(); a != nil {
		if found, ok := a.search(text, 0); ok {
			return found
		}
	}
	return p.re().MatchString(text)
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
	if !p.may(text) {
		return nil
	}
	if places, ok := p.find(text, 0); ok {
		return places
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

// FindAllString returns all matches.
func (p *Pattern) FindAllString(text string) []string {
	var all []string
	for _, m := range p.FindAllStringSubmatchIndex(text) {
		all = append(all, text[m[0]:m[1]])
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
	if !p.may(text) {
		return nil
	}
	if a := p.automaton(); a == nil || a.empty {
		return p.re().FindAllStringSubmatchIndex(text, -1)
	}
	var all [][]int
	for at := 0; ; {
		places, ok := p.find(text, at)
		if !ok {
			return p.re().FindAllStringSubmatchIndex(text, -1)
		}
		if places == nil {
			return all
		}
		all = append(all, places)
		at = places[1]
	}
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
