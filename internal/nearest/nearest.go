// Package nearest finds the name that somebody most likely meant.
package nearest

import "slices"

// Name returns the candidate with the smallest edit distance to s, the first of several; "" if there are none.
func Name(s string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b string) int { return Distance(s, a) - Distance(s, b) })
}

// Suggest returns `; did you mean "x"?` for the nearest candidate if that is near enough to be meant, else "".
func Suggest(s string, candidates []string) string {
	name := Name(s, candidates)
	if distance := Distance(s, name); name == "" || distance > max(2, len(s)/3) || distance >= max(len(s), len(name)) {
		return ""
	}
	return `; did you mean "` + name + `"?`
}

// Distance is the Levenshtein distance in bytes. Very long strings are compared by their beginning.
func Distance(a, b string) int {
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
