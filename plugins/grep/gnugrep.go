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

// gnugrep is the engine for machines that have grep and not ripgrep. It knows nothing of .gitignore, so it is told
// which files to look at.
type gnugrep struct{ program }

func (*gnugrep) name() string { return "grep" }

// takes refuses what grep reads in another way: it is asked for plain text, and for patterns that have nothing in them
// but what every dialect of regular expressions has in common.
func (*gnugrep) takes(q *query) bool { return !q.multiline && (q.fixed || common(q.pattern)) }

// common reports whether a pattern means the same as an extended regular expression of POSIX.
func common(pattern string) bool {
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

func (*gnugrep) arguments(q *query) []string {
	args := []string{"--color=never", "--no-messages", "--null", "--with-filename", "--count", "--text", "--devices=skip",
		"--directories=skip"}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.fixed {
		return append(args, "--fixed-strings", "--regexp="+q.pattern, "--")
	}
	return append(args, "--extended-regexp", "--regexp="+posixLineEnds(q.pattern), "--")
}

// texts finds the files that grep is to search. It finds out itself which are binary: grep would leave them out, and
// take what is not UTF-8 for one of them.
func texts(ctx context.Context, w *workspace.Workspace, path string, q *query, t *tally) (names []string, err error) {
	var mu sync.Mutex
	var workers sync.WaitGroup
	looked := make(chan string, 256)
	var outline tally
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range looked {
				var binary bool
				var err error
				if !q.text && ctx.Err() == nil {
					binary, err = hasNUL(w, join(path, name))
				}
				mu.Lock()
				switch {
				case errors.Is(err, fs.ErrPermission):
					t.closed++
				case err != nil: // gone
				case binary:
					t.binary++
				default:
					names = append(names, "./"+name)
				}
				mu.Unlock()
			}
		})
	}
	err = q.walk(ctx, w, path, &outline, func(name string) { looked <- name }, nil)
	close(looked)
	workers.Wait()
	t.ignored, t.notes = outline.ignored, outline.notes
	t.closed += outline.closed
	return names, err
}

// batchBytes is how long the names are that one process is given, less than what the kernel takes.
const batchBytes = 96 << 10

func (g *gnugrep) files(ctx context.Context, w *workspace.Workspace, path string, q *query,
	found func(string, int)) (tally, error) {
	var t tally
	names, err := texts(ctx, w, path, q, &t)
	if err != nil {
		return t, err
	}
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && size < batchBytes {
			size += len(names[n]) + 1
			n++
		}
		args := append(g.arguments(q), names[:n]...)
		names, t.searched = names[n:], t.searched+n
		exit, said, err := g.run(ctx, w, path, args, environment(), func(out io.Reader) error {
			return counted(out, func(name string, lines int) {
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
