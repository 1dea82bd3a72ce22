package main

import (
	"github.com/bmatcuk/doublestar/v4"

	"github.com/picoclaw/picoclaw/sdk"
)

const (
	// maxGlob bounds a glob in bytes: no path is longer.
	maxGlob = 4096
	// maxCombinations bounds what the alternatives of a glob make together: each may have to be tried for each name.
	maxCombinations = 1000
)

// globHint goes with a pattern that is none.
const globHint = "* stands for any part of a name, ** for any directories, {a,b} for either; write a backslash before one that is meant literally"

// checkGlob refuses what is no glob, and one that would take for ever. what says which argument it is.
func checkGlob(what, glob string) error {
	switch {
	case len(glob) > maxGlob:
		return sdk.Errorf(sdk.InvalidArgument, "%s is %d bytes long; at most %d are taken", what, len(glob), maxGlob)
	case glob == "" || !doublestar.ValidatePattern(glob):
		return sdk.Errorf(sdk.InvalidArgument, "%s is not a glob: %q", what, glob).WithHint(globHint)
	}
	if n, _ := combinations(glob, 0, false); n > maxCombinations {
		return sdk.Errorf(sdk.InvalidArgument, "the alternatives in %s make more than %d combinations", what,
			maxCombinations).
			WithHint("ask for some of them at a time")
	}
	return nil
}

// combinations counts what the alternatives make together from a place on, to the end of the alternative that it is in.
// It counts no further than it has to.
func combinations(glob string, at int, inside bool) (n, end int) {
	n = 1
	for at < len(glob) {
		switch c := glob[at]; {
		case c == '\\':
			at += 2
		case c == '[':
			for at++; at < len(glob) && glob[at] != ']'; at++ {
				if glob[at] == '\\' {
					at++
				}
			}
			at++
		case c == '{':
			sum := 0
			for more := true; more && at < len(glob); {
				var one int
				one, at = combinations(glob, at+1, true)
				sum = min(sum+one, maxCombinations+1)
				more = at < len(glob) && glob[at] == ','
			}
			n = min(n*sum, maxCombinations+1)
			at++
		case inside && (c == ',' || c == '}'):
			return n, at
		default:
			at++
		}
	}
	return n, at
}
