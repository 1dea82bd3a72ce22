package pattern

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// classify finds the characters that are all the same to the expression: those that begin a class are where the
// ranges of its instructions begin and end, and what counts as a word does.
func (a *automaton) classify() {
	var begins [utf8.RuneSelf + 1]bool
	between := func(from, to rune) {
		begins[min(from, utf8.RuneSelf)], begins[min(to+1, utf8.RuneSelf)] = true, true
	}
	for _, r := range [][2]rune{{'\n', '\n'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} {
		between(r[0], r[1])
	}
	for i := range a.prog.Inst {
		switch inst := &a.prog.Inst[i]; inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			a.beyond = a.beyond && uniform(inst)
			if len(inst.Rune) == 1 {
				c := inst.Rune[0]
				between(c, c)
				if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
					for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
						between(other, other)
					}
				}
			}
			for i := 0; i+1 < len(inst.Rune); i += 2 {
				between(inst.Rune[i], inst.Rune[i+1])
			}
		}
	}
	for c := range rune(utf8.RuneSelf) {
		if c == 0 || begins[c] {
			a.samples = append(a.samples, c)
		}
		a.classes[c] = uint8(len(a.samples) - 1)
	}
}

// beginnings finds what a match may begin with behind the beginning of a text.
func (a *automaton) beginnings() {
	start := []uint32{uint32(a.prog.Start)}
	_, a.empty = a.closure(start, ^syntax.EmptyOp(0))
	waiting, _ := a.closure(start, ^syntax.EmptyBeginText)
	within, _ := a.closure(start, ^(syntax.EmptyBeginText | syntax.EmptyWordBoundary))
	a.edge = len(within) == 0
	for c := range a.first {
		a.first[c] = c >= utf8.RuneSelf
	}
	for _, pc := range waiting {
		for c := range rune(utf8.RuneSelf) {
			a.first[c] = a.first[c] || a.prog.Inst[pc].MatchRune(a.samples[a.classes[c]])
		}
	}
}

// skip returns the next place where a match may begin.
func (a *automaton) skip(text string, at int) int {
	for ; at > 0 && at < len(text); at++ {
		if c := text[at]; a.first[c] && (!a.edge || !isWord[c] || !isWord[text[at-1]]) {
			break
		}
	}
	return at
}

// isWord says of the bytes whether they count as parts of a word.
var isWord = func() (words [256]bool) {
	for c := range words {
		words[c] = syntax.IsWordChar(rune(c))
	}
	return words
}()

// uniform says whether an instruction matches all characters beyond ASCII, or none.
func uniform(inst *syntax.Inst) bool {
	if len(inst.Rune) == 1 {
		c := inst.Rune[0]
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				if other >= utf8.RuneSelf {
					return false
				}
			}
		}
		return c < utf8.RuneSelf
	}
	for i := 0; i+1 < len(inst.Rune); i += 2 {
		if from, to := inst.Rune[i], inst.Rune[i+1]; to >= utf8.RuneSelf && (from > utf8.RuneSelf || to != unicode.MaxRune) {
			return false
		}
	}
	return true
}

// left is what stands left of a place, as far as ^, $ and \b can tell.
type left uint8

const (
	nothing left = iota
	newline
	wordly
	other
	lefts
)

// leftOf is what a character is to the place behind it.
func leftOf(c rune) left {
	switch {
	case c < 0:
		return nothing
	case c == '\n':
		return newline
	case syntax.IsWordChar(c):
		return wordly
	}
	return other
}

// leftAt is what stands left of a place.
func leftAt(text string, at int) left {
	if at == 0 {
		return nothing
	}
	return leftOf(rune(text[at-1])) // a byte of a character beyond ASCII is none of a word either
}
