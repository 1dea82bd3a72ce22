package pattern

// Pairs are the pairs of neighbouring bytes that a text has, some of them taken for one another. Who holds many patterns
// against one text asks them first: a word of which the text has not even the pairs is nowhere in it.
type Pairs [pairBits / 64]uint64

const pairBits = 4096

// Set makes them the pairs of a text.
func (p *Pairs) Set(text string) {
	*p = Pairs{}
	for i := 1; i < len(text); i++ {
		at := pair(text[i-1], text[i])
		p[at/64] |= 1 << (at % 64)
	}
}

func pair(a, b byte) uint16 { return (uint16(a)<<6 ^ uint16(b)) % pairBits }

// Has says whether a text with these pairs may have the word.
func (p *Pairs) Has(word string) bool {
	for i := 1; i < len(word); i++ {
		if at := pair(word[i-1], word[i]); p[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

// May says whether the pattern may match something in a text with these pairs.
func (p *Pattern) May(pairs *Pairs) bool {
	words := p.words()
	for _, word := range words {
		if pairs.Has(word) {
			return true
		}
	}
	return len(words) == 0
}
