package main

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/picoclaw/picoclaw/sdk"
)

const (
	// maxGlob limits the length of a glob in bytes; no path is longer
	maxGlob = 4096
	// maxCombinations limits the combinations of a glob's alternatives, because each may be tried for each name
	maxCombinations = 1000
)

// globHint is the hint for an invalid glob.
const globHint = "* stands for any part of a name, ** for any directories, {a,b} for either; write a backslash before a literal one"

// validateGlob refuses an invalid or too expensive glob. Its error names the argument.
func validateGlob(argument, glob string) error {
	switch {
	case len(glob) > maxGlob:
		return sdk.Errorf(sdk.InvalidArgument, "%s is %d bytes long; at most %d are taken", argument, len(glob), maxGlob)
	case glob == "" || !doublestar.ValidatePattern(glob):
		return sdk.Errorf(sdk.InvalidArgument, "%s is not a glob: %q", argument, glob).WithHint(globHint)
	}
	if n, _ := countCombinations(glob, 0, false); n > maxCombinations {
		return sdk.Errorf(sdk.InvalidArgument, "the alternatives in %s make more than %d combinations", argument,
			maxCombinations).
			WithHint("request fewer at a time")
	}
	return nil
}

// countCombinations counts the combinations of a glob's alternatives from an offset, up to the limit.
func countCombinations(glob string, at int, inside bool) (n, end int) {
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
				one, at = countCombinations(glob, at+1, true)
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

//go:embed filetypes.json
var fileTypesJSON []byte

// globsByFileType returns the globs for each file type in the arguments. They are the same for every engine.
var globsByFileType = sync.OnceValue(func() (globs map[string][]string) {
	if err := json.Unmarshal(fileTypesJSON, &globs); err != nil {
		panic(err) // a test reads them
	}
	return globs
})

// fileTypeGlobs returns the globs of a file type; nil for all files.
func fileTypeGlobs(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	all := globsByFileType()
	if globs, ok := all[name]; ok {
		return globs, nil
	}
	return nil, sdk.Errorf(sdk.InvalidArgument, "the file type %q is not known", name).
		WithHint("known are %s; include takes any glob", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}
