package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// searchEngine is a program or Go code that finds the files with matches in a directory.
type searchEngine interface {
	name() string // shown to the agent
	// supports reports whether the engine understands a query.
	supports(q *grepQuery) bool
	// findMatchingFiles calls found for each matching file, in any order and from several goroutines. name is relative to the
	// directory, and lines is the number of matching lines or 0 if unknown.
	findMatchingFiles(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery, found func(name string, lines int)) (searchStats,
		error)
}

// searchStats are the numbers of searched and skipped files of one search.
type searchStats struct {
	searched   int      // files
	ignored    int      // skipped files and directories; a directory counts as one
	binary     int      // files that are no text
	moreBinary bool     // more binary files may exist
	tooLarge   int      // files that were not searched for their size
	closed     int      // files and directories that may not be read
	failed     string   // why the search may have missed some files; "" if it has not
	notes      []string // further notes for the agent
}

// installedEngines returns the search engines on this machine, best first. The last one supports every query.
// Programs are only looked up in system directories, not in PATH.
func installedEngines(l *isolation.Starter) []searchEngine {
	var engines []searchEngine
	if path := findSystemProgram("rg"); path != "" {
		engines = append(engines, &ripgrepEngine{engineExecutable{path, l}})
	}
	if path := findSystemProgram("grep"); path != "" {
		engines = append(engines, &gnuGrepEngine{engineExecutable{path, l}})
	}
	return append(engines, builtinEngine{})
}

func findSystemProgram(name string) string {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// chooseEngine returns the first engine that supports a query.
func chooseEngine(engines []searchEngine, q *grepQuery) searchEngine {
	for _, e := range engines {
		if e.supports(q) {
			return e
		}
	}
	return builtinEngine{}
}
