package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// gnugrep is the engine for machines that have grep and not ripgrep. It knows nothing of .gitignore, so it is told which
// files to look at.
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
	args := []string{"--color=never", "--no-messages", "--null", "--with-filename", "--count", "--binary-files=without-match",
		"--devices=skip", "--directories=skip"}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.text {
		args = append(args, "--text")
	}
	if q.fixed {
		args = append(args, "--fixed-strings")
	} else {
		args = append(args, "--extended-regexp")
	}
	return append(args, "--regexp="+q.pattern, "--")
}

// batchBytes is how long the names are that one process is given, less than what the kernel takes.
const batchBytes = 96 << 10

func (g *gnugrep) files(ctx context.Context, w *workspace.Workspace, path string, q *query, found func(string, int)) (tally, error) {
	var mu sync.Mutex
	var names []string
	walk := tree{w: w, path: path, recursive: q.recursive, hidden: q.hidden, ignore: q.ignore, found: func(name string, e fs.DirEntry) {
		if e.Type().IsRegular() && q.wants(name) {
			mu.Lock()
			names = append(names, "./"+name)
			mu.Unlock()
		}
	}}
	if err := walk.walk(ctx); err != nil {
		return tally{}, err
	}
	t := tally{searched: len(names)}
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && size < batchBytes {
			size += len(names[n]) + 1
			n++
		}
		args := append(g.arguments(q), names[:n]...)
		names = names[n:]
		exit, said, err := g.run(ctx, w, path, args, environment(), func(out io.Reader) error {
			_, err := counted(out, false, func(name string, lines int) { found(strings.TrimPrefix(name, "./"), lines) })
			return err
		})
		if err != nil {
			return t, err
		}
		if exit > 1 && said != "" {
			return t, fmt.Errorf("grep failed: %s", said)
		}
	}
	return t, nil
}
