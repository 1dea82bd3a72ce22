package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// automaton says whether an expression matches anywhere in a text, and how far it reads from a place, in one step for each
// character: [regexp.Regexp] takes twenty times as long where there is nothing to find. It is made while it is used:
// what a character leads to is worked out when it is first met. It finds no groups, and it says so when it
// can't tell. It may be used concurrently.
type automaton struct {
	prog    *syntax.Prog
	classes [utf8.RuneSelf]uint8 // of the ASCII characters: those of one class are all the same to the expression
	samples []rune               // one character of each class
	beyond  bool                 // all characters beyond ASCII are the same to it, too
	begun   bool                 // it matches at the beginning of a text only
	empty   bool                 // it may match nothing at all
	first   [256]bool            // the bytes that a match may begin with, unless that is where the text begins
	edge    bool                 // a match begins where a word begins or ends

	mu     sync.Mutex
	states map[string]*state
	starts [2][lefts]atomic.Pointer[state] // where a match has to begin, and where one may begin at any place, by what is left of it
}

// state is what may come next, at a place in a text.
type state struct {
	pcs    []uint32 // the instructions that go on
	left   left
	search bool // a match may begin here, too
	idle   bool // and none has begun
	found  bool // a match ended before the character that led here
	ends   bool // nothing further is to be found out
	next   []atomic.Pointer[state]
}

// maxStates is how many states an automaton has at most. When it would have more, it begins anew, and what was being looked for
// is left to package regexp.
const maxStates = 400

// newAutomaton returns the automaton of an expression, or nil if it is too large.
func newAutomaton(expr string) *automaton {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > 1<<12 {
		return nil
	}
	a := &automaton{prog: prog, beyond: true, begun: prog.StartCond()&syntax.EmptyBeginText != 0}
	a.classify()
	a.samples = append(a.samples, utf8.RuneSelf, -1) // one for all beyond, and the end of the text
	a.beginnings()
	a.begin()
	return a
}

// begin forgets all states but the first ones.
func (a *automaton) begin() {
	a.states = map[string]*state{}
	for l := range lefts {
		a.starts[0][l].Store(a.add(nil, []uint32{uint32(a.prog.Start)}, l, false, false))
		a.starts[1][l].Store(a.add(nil, []uint32{uint32(a.prog.Start)}, l, true, false))
	}
}

// closure returns the instructions that wait for a character, and whether there is a match before it.
func (a *automaton) closure(pcs []uint32, flags syntax.EmptyOp) (waiting []uint32, matched bool) {
	seen := make([]bool, len(a.prog.Inst))
	todo := slices.Clone(pcs)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &a.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				todo = append(todo, inst.Out)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstFail:
		default:
			waiting = append(waiting, pc)
		}
	}
	return waiting, matched
}

// follow works out what a character of a class leads to. It returns nil if that can't be told.
func (a *automaton) follow(s *state, class int) *state {
	c := a.samples[class]
	if c == utf8.RuneSelf && !a.beyond {
		return nil
	}
	before := [lefts]rune{-1, '\n', 'a', ' '}[s.left]
	waiting, matched := a.closure(s.pcs, syntax.EmptyOpContext(before, c))
	var pcs []uint32
	for _, pc := range waiting {
		if inst := &a.prog.Inst[pc]; c >= 0 && inst.MatchRune(c) {
			pcs = append(pcs, inst.Out)
		}
	}
	if s.search {
		pcs = append(pcs, uint32(a.prog.Start))
	}
	slices.Sort(pcs)
	next := a.state(slices.Compact(pcs), leftOf(c), s.search, matched)
	if next != nil {
		s.next[class].Store(next)
	}
	return next
}

// state returns the one state of this kind, or nil if there are too many.
func (a *automaton) state(pcs []uint32, l left, search, found bool) *state {
	key := []byte{byte(l), 0}
	if search {
		key[1] |= 1
	}
	if found {
		key[1] |= 2
	}
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint16(key, uint16(pc))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch s := a.states[string(key)]; {
	case s != nil:
		return s
	case len(a.states) >= maxStates:
		a.begin()
		return nil
	}
	return a.add(key, pcs, l, search, found)
}

// add makes a state; one without a key is no other's successor.
func (a *automaton) add(key []byte, pcs []uint32, l left, search, found bool) *state {
	s := &state{pcs: pcs, left: l, search: search, idle: search && len(pcs) == 1 && !a.empty, found: found, ends: search && found || len(pcs) == 0, next: make([]atomic.Pointer[state], len(a.samples))}
	if key != nil {
		a.states[string(key)] = s
	}
	return s
}

// run goes on from a state at a place in a text until nothing more can be found, or, in a search, something is.
// It returns the place behind the last character that was read; ok is false if it couldn't tell.
func (a *automaton) run(s *state, text string, at int) (end int, found, ok bool) {
	beyond := len(a.samples) - 2
	for at < len(text) {
		if s.idle {
			if next := a.skip(text, at); next > at {
				if at = next; at == len(text) {
					return at, false, true
				}
				s = a.starts[1][leftAt(text, at)].Load()
			}
		}
		c, class := text[at], beyond
		if c < utf8.RuneSelf {
			class = int(a.classes[c])
			at++
		} else {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
		next := s.next[class].Load()
		if next == nil {
			if next = a.follow(s, class); next == nil {
				return at, false, false
			}
		}
		s = next
		if s.ends {
			return at, found || s.found, true
		}
		found = found || s.found
	}
	last := s.next[beyond+1].Load()
	if last == nil {
		if last = a.follow(s, beyond+1); last == nil {
			return at, false, false
		}
	}
	return at, found || last.found, true
}

// search says whether a match begins at a place or behind it.
func (a *automaton) search(text string, at int) (found, ok bool) {
	anywhere := 1
	if a.begun {
		if at > 0 {
			return false, true
		}
		anywhere = 0
	}
	_, found, ok = a.run(a.starts[anywhere][leftAt(text, at)].Load(), text, at)
	return found, ok
}

// match says whether a match begins at a place, and up to where the text decides on it.
func (a *automaton) match(text string, at int) (end int, found, ok bool) {
	return a.run(a.starts[0][leftAt(text, at)].Load(), text, at)
}
