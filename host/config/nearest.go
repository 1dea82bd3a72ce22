package config

import (
	"slices"
	"strings"
)

// nearest returns the candidate with the smallest edit distance to s, the first of several; candidates is not empty.
func nearest(s string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int { return distance(s, a) - distance(s, b) })
}

// nearestKey returns the known key that an unknown one was most likely meant to be. parent is the full name, in the
// table, of the object that holds the unknown key, and path the same as it was written; where the answer lies
// below the same list element or id, it is given as the document would have it.
//
// The last part counts most, since that is what is mistyped; where it is equally near, the key with more of the
// same parents is nearer.
func nearestKey(unknown, parent, path string) string {
	last := unknown[strings.LastIndex(unknown, ".")+1:]
	above, written := splitName(parent), splitName(path)
	best, bestScore := "", 0
	var walk func(e *entry)
	walk = func(e *entry) {
		for _, child := range e.children {
			walk(child)
			if child.name[0] == '[' || child.name[0] == '<' {
				continue
			}
			parts := splitName(child.full)
			shared := sharedPrefix(above, parts)
			score := 16*distance(last, child.name) + (len(above) - shared) + (len(parts) - 1 - shared)
			if best == "" || score < bestScore {
				best, bestScore = concrete(parts, written, shared), score
			}
		}
	}
	walk(schema().root)
	return best
}

// concrete joins parts, with the first shared of them as they were written.
func concrete(parts, written []string, shared int) string {
	full := ""
	for i, part := range parts {
		if i < shared {
			part = written[i]
		}
		full = joinName(full, part)
	}
	return full
}

func sharedPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the Levenshtein distance in bytes. Very long strings are compared by their beginning.
func distance(a, b string) int {
	const enough = 128
	a, b = a[:min(len(a), enough)], b[:min(len(b), enough)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := diagonal
			if a[i] != b[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
