package main

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
)

// types are the kinds of files that can be asked for, and what their names look like. They are the same for every
// engine.
func types() map[string][]string {
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

// typeGlobs returns the globs of a file type; nil for all files.
func typeGlobs(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	all := types()
	if globs, ok := all[name]; ok {
		return globs, nil
	}
	names := make([]string, 0, len(all))
	for known := range all {
		names = append(names, known)
	}
	slices.Sort(names)
	return nil, sdk.Errorf(sdk.InvalidArgument, "the file type %q is not known", name).
		WithHint("known are %s; include takes any glob", strings.Join(names, ", "))
}
