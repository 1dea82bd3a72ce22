package config

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// nearestKey returns the known key that is most similar to an unknown key. The object that contains the unknown key has
// the name parent in the table, and path as written. The result takes list indexes and ids from path, as far as its
// parents are the same.
//
// The similarity of the last part counts most, then the distance of the parents. near is false if hardly a letter
// matches.
func nearestKey(unknown, parent, path string) (key string, near bool) {
	last := unknown[strings.LastIndex(unknown, ".")+1:]
	above, written := splitKeyName(parent), splitKeyName(path)
	best, bestScore := "", 0
	var walk func(e *keyNode)
	walk = func(e *keyNode) {
		for _, child := range e.children {
			walk(child)
			if child.name[0] == '[' || child.name[0] == '<' {
				continue
			}
			parts := splitKeyName(child.full)
			shared := sharedPrefixLength(above, parts[:len(parts)-1])
			apart := (len(above) - shared) + (len(parts) - 1 - shared)
			mistyped := 1000 * suggest.EditDistance(last, child.name) / max(len(last), len(child.name))
			if score := mistyped + 20*apart; best == "" || score < bestScore {
				best, bestScore, near = joinKeyAsWritten(parts, written, shared), score, mistyped < 600
			}
		}
	}
	walk(keySchema().root)
	return best, near
}

// unknownKeyHint returns the remedy for an unknown key in the object e at path.
func unknownKeyHint(full, path string, e *keyNode) string {
	key, near := nearestKey(full, e.full, path)
	if near || path == "" {
		return "the nearest known key is " + key
	}
	var names []string
	for _, child := range e.children {
		names = append(names, child.name)
	}
	return "the nearest known key is " + joinKeyName(path, suggest.Nearest(full[strings.LastIndex(full, ".")+1:], names)) +
		", and " + path + " has " + strings.Join(names, ", ")
}

// joinKeyAsWritten joins the parts of a key, and replaces the first shared ones by the parts as written.
func joinKeyAsWritten(parts, written []string, shared int) string {
	full := ""
	for i, part := range parts {
		if i < shared {
			part = written[i]
		}
		full = joinKeyName(full, part)
	}
	return full
}

func sharedPrefixLength(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
