package config

import (
	"strings"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// nearestKey returns the known key that an unknown one was most likely meant to be. parent is the full name, in the
// table, of the object that holds the unknown key, and path the same as it was written; where the answer lies
// below the same list element or id, it is given as the document would have it.
//
// What counts most is how much of the last part is mistyped; then how far the parents are apart. near is false if
// hardly a letter of it is right.
func nearestKey(unknown, parent, path string) (key string, near bool) {
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
			shared := sharedPrefix(above, parts[:len(parts)-1])
			apart := (len(above) - shared) + (len(parts) - 1 - shared)
			mistyped := 1000 * suggest.Distance(last, child.name) / max(len(last), len(child.name))
			if score := mistyped + 20*apart; best == "" || score < bestScore {
				best, bestScore, near = concrete(parts, written, shared), score, mistyped < 600
			}
		}
	}
	walk(schema().root)
	return best, near
}

// unknownKey is the cure for a key that the object e, which was written at path, doesn't have.
func unknownKey(full, path string, e *entry) string {
	key, near := nearestKey(full, e.full, path)
	if near || path == "" {
		return "the nearest known key is " + key
	}
	var names []string
	for _, child := range e.children {
		names = append(names, child.name)
	}
	return "the nearest known key is " + joinName(path, suggest.Nearest(full[strings.LastIndex(full, ".")+1:], names)) +
		", and " + path + " has " + strings.Join(names, ", ")
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
