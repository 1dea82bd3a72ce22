package main

import (
	"maps"
	"slices"
	"strings"

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

// globsByFileType returns the globs for each file type in the arguments. They are the same for every engine.
func globsByFileType() map[string][]string {
	return map[string][]string{
		"c":        {"*.c", "*.h"},
		"cpp":      {"*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx", "*.h", "*.inl"},
		"csharp":   {"*.cs"},
		"css":      {"*.css", "*.scss", "*.sass", "*.less"},
		"docker":   {"Dockerfile*", "*.dockerfile"},
		"elixir":   {"*.ex", "*.exs"},
		"go":       {"*.go"},
		"haskell":  {"*.hs", "*.lhs"},
		"html":     {"*.html", "*.htm", "*.xhtml"},
		"java":     {"*.java"},
		"js":       {"*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"},
		"json":     {"*.json", "*.jsonl", "*.jsonc"},
		"kotlin":   {"*.kt", "*.kts"},
		"lua":      {"*.lua"},
		"make":     {"[Mm]akefile", "GNUmakefile", "*.mk", "*.mak"},
		"markdown": {"*.md", "*.markdown", "*.mdx"},
		"md":       {"*.md", "*.markdown", "*.mdx"},
		"php":      {"*.php"},
		"proto":    {"*.proto"},
		"py":       {"*.py", "*.pyi"},
		"ruby":     {"*.rb", "Gemfile", "Rakefile", "*.gemspec"},
		"rust":     {"*.rs"},
		"scala":    {"*.scala", "*.sbt"},
		"sh":       {"*.sh", "*.bash", "*.zsh", "*.ksh"},
		"sql":      {"*.sql"},
		"swift":    {"*.swift"},
		"tex":      {"*.tex", "*.bib", "*.sty"},
		"toml":     {"*.toml"},
		"ts":       {"*.ts", "*.tsx", "*.mts", "*.cts"},
		"txt":      {"*.txt"},
		"xml":      {"*.xml", "*.xsd", "*.xsl", "*.svg"},
		"yaml":     {"*.yaml", "*.yml"},
		"zig":      {"*.zig"},
	}
}

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
