// Package suggest finds the most similar known name for a misspelt one.
package suggest

import "slices"

// Nearest returns the first candidate with the smallest edit distance to s, or "" without candidates.
func Nearest(s string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b string) int { return EditDistance(s, a) - EditDistance(s, b) })
}

// DidYouMean returns `; did you mean "x"?` for the nearest candidate, or "" if no candidate is near enough.
func DidYouMean(s string, candidates []string) string {
	name := Nearest(s, candidates)
	if distance := EditDistance(s, name); name == "" || distance > max(2, len(s)/3) || distance >= max(len(s), len(name)) {
		return ""
	}
	return `; did you mean "` + name + `"?`
}

// EditDistance returns the Levenshtein distance in bytes of the first 128 bytes of two strings.
func EditDistance(a, b string) int {
	const maxLength = 128
	a, b = a[:min(len(a), maxLength)], b[:min(len(b), maxLength)]
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
