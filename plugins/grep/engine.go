package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// engine says which files in a directory have matches.
type engine interface {
	// name is told to the agent.
	name() string
	// takes reports whether the engine understands a query.
	takes(q *query) bool
	// files calls found with the name, relative to the directory, of each file with matching lines, and their number, or 0
	// if it is not known. It may call it from several goroutines, in any order.
	files(ctx context.Context, w *workspace.Workspace, path string, q *query, found func(name string, lines int)) (tally,
		error)
}

// tally is what an engine has to tell about a search.
type tally struct {
	searched   int      // files
	ignored    int      // files and directories that were left alone, a directory with everything in it counting as one
	binary     int      // files that are no text
	moreBinary bool     // there may be more of these
	tooLarge   int      // files that were not searched for their size
	closed     int      // files and directories that may not be read
	failed     string   // why the search may have missed some files; "" if it has not
	notes      []string // what else the agent should know
}

// installed lists the engines of this machine, the best first; the last one takes every query. Programs are looked for
// where the system puts them, not on a PATH.
func installed(l *isolation.Isolation) []engine {
	var engines []engine
	if path := installedAt("rg"); path != "" {
		engines = append(engines, &ripgrep{program{path, l}})
	}
	if path := installedAt("grep"); path != "" {
		engines = append(engines, &gnugrep{program{path, l}})
	}
	return append(engines, own{})
}

func installedAt(name string) string {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// choose returns the best engine for a query.
func choose(engines []engine, q *query) engine {
	for _, e := range engines {
		if e.takes(q) {
			return e
		}
	}
	return own{}
}
