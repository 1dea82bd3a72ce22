package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// searchEngine is a program or Go code that finds the files with matches among listed files. It treats every file as
// text.
type searchEngine interface {
	name() string // shown to the agent
	// supports reports whether the engine understands a query.
	supports(q *grepQuery) bool
	// findMatchingFiles calls found for each matching file, in any order and from several goroutines. The names
	// are relative to the directory, and lines is the number of matching lines or 0 if unknown.
	findMatchingFiles(ctx context.Context, w *workspace.Workspace, dir string, files fileList, q *grepQuery,
		found func(name string, lines int)) (searchStats, error)
}

// searchStats are the numbers of files that an engine did not search.
type searchStats struct {
	tooLarge int
	closed   int    // files that may not be read
	failed   string // why the search may have missed some files; "" if it has not
}

// installedEngines returns the search engines on this machine, best first. The last one supports every query.
// Programs are only looked up in system directories, not in PATH.
func installedEngines(l *isolation.Starter) []searchEngine {
	var engines []searchEngine
	if path := findSystemProgram("rg"); path != "" {
		acceptAny := func(*grepQuery) bool { return true }
		engines = append(engines, &programEngine{"ripgrep", path, l, acceptAny, ripgrepArguments, fileList.mergeWholeDirs})
	}
	if path := findSystemProgram("grep"); path != "" {
		engines = append(engines, &programEngine{"grep", path, l, isPortableQuery, gnuGrepArguments, func(files fileList) []string { return files.names }})
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

// builtinEngine searches files in this process, without a search program.
type builtinEngine struct{}

func (builtinEngine) name() string             { return "built-in" }
func (builtinEngine) supports(*grepQuery) bool { return true }

func (builtinEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, dir string, files fileList, q *grepQuery,
	found func(string, int)) (searchStats, error) {
	var tooLarge, closed atomic.Int64
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range files.names {
		if ctx.Err() != nil {
			break
		}
		workers.Go(func() error {
			data, err := readSearchedFile(w, joinPath(dir, name))
			switch {
			case errors.Is(err, errLarge):
				tooLarge.Add(1)
			case errors.Is(err, fs.ErrPermission):
				closed.Add(1)
			case err == nil: // or it is gone
				if n := q.countMatches(data); n > 0 {
					found(name, n)
				}
			}
			return nil
		})
	}
	err := workers.Wait()
	return searchStats{tooLarge: int(tooLarge.Load()), closed: int(closed.Load())}, err
}
