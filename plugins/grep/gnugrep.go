package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// gnuGrepEngine runs grep. The plugin lists the files to search, because grep does not know .gitignore.
type gnuGrepEngine struct{ engineExecutable }

func (*gnuGrepEngine) name() string { return "grep" }

// supports accepts only queries that grep can't misunderstand: fixed strings, and patterns with the syntax that all
// dialects share.
func (*gnuGrepEngine) supports(q *grepQuery) bool {
	return !q.multiline && (q.fixed || isPortablePattern(q.pattern))
}

// isPortablePattern reports whether a pattern means the same as a POSIX extended regular expression.
func isPortablePattern(pattern string) bool {
	quantified := true // at the beginning there is nothing to repeat
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			if i++; i == len(pattern) || !strings.ContainsRune(`.*+?()[]{}|^$\/-`, rune(pattern[i])) {
				return false
			}
			quantified = false
		case strings.IndexByte("*+?", c) >= 0:
			if quantified {
				return false
			}
			quantified = true
		case strings.IndexByte("()|^$", c) >= 0:
			quantified = c != ')'
		case strings.IndexByte("[]{}", c) >= 0 || c >= 0x80:
			return false
		default:
			quantified = false
		}
	}
	return !strings.Contains(pattern, "||") && !strings.Contains(pattern, "(|") && !strings.Contains(pattern, "|)") &&
		!strings.Contains(pattern, "()") && !strings.HasPrefix(pattern, "|") && !strings.HasSuffix(pattern, "|")
}

func (*gnuGrepEngine) arguments(q *grepQuery) []string {
	args := []string{"--color=never", "--no-messages", "--null", "--with-filename", "--count", "--text", "--devices=skip",
		"--directories=skip"}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.fixed {
		return append(args, "--fixed-strings", "--regexp="+q.pattern, "--")
	}
	return append(args, "--extended-regexp", "--regexp="+allowPosixCRLF(q.pattern), "--")
}

// listTextFiles returns the files for grep to search. Binary files are left out, because grep detects them differently.
func listTextFiles(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery, t *searchStats) (names []string, err error) {
	var mu sync.Mutex
	var workers sync.WaitGroup
	looked := make(chan string, 256)
	var outline searchStats
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range looked {
				var binary bool
				var lookErr error
				if !q.text && ctx.Err() == nil {
					binary, lookErr = isBinaryFile(w, joinPath(path, name))
				}
				mu.Lock()
				switch {
				case errors.Is(lookErr, fs.ErrPermission):
					t.closed++
				case lookErr != nil: // gone
				case binary:
					t.binary++
				default:
					names = append(names, "./"+name)
				}
				mu.Unlock()
			}
		})
	}
	err = q.walkFiles(ctx, w, path, &outline, func(name string) { looked <- name }, nil)
	close(looked)
	workers.Wait()
	t.ignored, t.notes = outline.ignored, outline.notes
	t.closed += outline.closed
	return names, err
}

// maxArgumentBytes limits the file names in the arguments of one process.
const maxArgumentBytes = 96 << 10

func (g *gnuGrepEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery,
	found func(string, int)) (searchStats, error) {
	var t searchStats
	names, err := listTextFiles(ctx, w, path, q, &t)
	if err != nil {
		return t, err
	}
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && size < maxArgumentBytes {
			size += len(names[n]) + 1
			n++
		}
		args := append(g.arguments(q), names[:n]...)
		names, t.searched = names[n:], t.searched+n
		exit, said, err := g.runProgram(ctx, w, path, args, searchEnvironment(), func(out io.Reader) error {
			return parseCountRecords(out, func(name string, lines int) {
				if lines > 0 {
					found(strings.TrimPrefix(name, "./"), lines)
				}
			})
		})
		if err != nil {
			return t, err
		}
		if exit > 1 && said.first != "" {
			return t, fmt.Errorf("grep failed: %s", said.first)
		}
	}
	return t, nil
}
