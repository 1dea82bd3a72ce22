package replace

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxSimilarPlaces = 3       // similar places listed for a text that was not found
	maxPlaceLines    = 12      // lines of each place
	maxSearchedBytes = 1 << 20 // bytes of text that are searched for similar places
	minSimilarity    = 0.5     // similarity of a listed place, from 0 to 1
)

// findSimilarPlaces returns the places in s that are most similar to old.
func findSimilarPlaces(s, old string) []SimilarLines {
	wanted := splitLines(old)
	if len(s) > maxSearchedBytes || len(wanted) == 0 {
		return nil
	}
	lines := splitLines(s)
	type scored struct {
		at    int
		score float64
	}
	grams := make([]map[string]int, len(wanted))
	for i, w := range wanted {
		grams[i] = countBigrams(w.body)
	}
	lead := longestLineIndex(wanted)
	var all []scored
	for at := range lines {
		// The longest line is the most significant one. A place with another longest line is not similar.
		if at+lead >= len(lines) {
			break
		}
		score := lineSimilarity(wanted[lead], grams[lead], lines[at+lead])
		if score < minSimilarity {
			continue
		}
		total := 0.0
		for i, w := range wanted {
			if at+i < len(lines) {
				total += lineSimilarity(w, grams[i], lines[at+i])
			}
		}
		if total /= float64(len(wanted)); total >= minSimilarity {
			all = append(all, scored{at, total})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var places []SimilarLines
	for _, c := range all {
		if len(places) == maxSimilarPlaces {
			break
		}
		last := min(c.at+len(wanted), len(lines))
		overlaps := func(p SimilarLines) bool { return c.at+1 <= p.Last && last >= p.First }
		if slices.ContainsFunc(places, overlaps) {
			continue
		}
		p := SimilarLines{First: c.at + 1, Last: last}
		for _, l := range lines[c.at:min(last, c.at+maxPlaceLines)] {
			p.Lines = append(p.Lines, s[l.from:l.end])
		}
		places = append(places, p)
	}
	return places
}

func longestLineIndex(lines []indentedLine) int {
	best := 0
	for i, l := range lines {
		if len(l.body) > len(lines[best].body) {
			best = i
		}
	}
	return best
}

// lineSimilarity returns the similarity of two lines from 0 to 1, mostly ignoring indentation.
func lineSimilarity(w indentedLine, grams map[string]int, l indentedLine) float64 {
	a, b := strings.TrimRight(w.body, " \t"), strings.TrimRight(l.body, " \t")
	switch {
	case w.body == l.body && w.indent == l.indent:
		return 1
	case a == b:
		return 0.95
	case len(a) > 3*len(b)+8 || len(b) > 3*len(a)+8:
		return 0
	}
	other := countBigrams(b)
	shared, total := 0, 0
	for g, n := range grams {
		shared += min(n, other[g])
		total += n
	}
	for _, n := range other {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 0.9 * 2 * float64(shared) / float64(total)
}

// maxComparedBytes limits the bytes of a line that are compared.
const maxComparedBytes = 400

// countBigrams counts the pairs of adjacent bytes.
func countBigrams(s string) map[string]int {
	s = s[:min(len(s), maxComparedBytes)]
	out := make(map[string]int, len(s))
	for i := 0; i+2 <= len(s); i++ {
		out[s[i:i+2]]++
	}
	return out
}
