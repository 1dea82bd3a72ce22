package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// builtinEngine searches files in this process, without a search program.
type builtinEngine struct{}

func (builtinEngine) name() string             { return "built-in" }
func (builtinEngine) supports(*grepQuery) bool { return true }

// maxFileBytes limits the size of files that the plugin searches itself.
const maxFileBytes = 64 << 20

func (builtinEngine) findMatchingFiles(ctx context.Context, w *workspace.Workspace, path string, q *grepQuery, found func(string, int)) (searchStats,
	error) {
	var t searchStats
	var mu sync.Mutex
	var workers sync.WaitGroup
	names := make(chan string, 256)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range names {
				data, err := readSearchedFile(w, joinPath(path, name))
				searched := false
				mu.Lock()
				switch {
				case errors.Is(err, errLarge):
					t.tooLarge++
				case errors.Is(err, fs.ErrPermission):
					t.closed++
				case err != nil: // gone
				case !q.text && containsNUL(data):
					t.binary++
				default:
					t.searched++
					searched = true
				}
				mu.Unlock()
				if !searched || ctx.Err() != nil {
					continue
				}
				switch n := q.countMatches(data); {
				case n > 0 && q.multiline:
					found(name, 0) // as the others, who can't count these
				case n > 0:
					found(name, n)
				}
			}
		})
	}
	var outline searchStats
	err := q.walkFiles(ctx, w, path, &outline, func(name string) { names <- name }, nil)
	close(names)
	workers.Wait()
	t.ignored, t.notes = outline.ignored, outline.notes
	t.closed += outline.closed
	return t, err
}

// countMatches returns the number of matching lines, or of matches across lines.
func (q *grepQuery) countMatches(data []byte) int {
	if q.multiline {
		return len(q.findMultilineMatches(data))
	}
	n := 0
	for line := range bytes.Lines(data) {
		if q.re.Match(bytes.TrimSuffix(line, []byte{'\n'})) {
			n++
		}
	}
	return n
}

// findMultilineMatches returns the offsets of matches across lines, without an empty match after the last line break.
func (q *grepQuery) findMultilineMatches(data []byte) [][]int {
	all := q.re.FindAllIndex(data, -1)
	if n := len(all); n > 0 && all[n-1][0] == len(data) && (len(data) == 0 || data[len(data)-1] == '\n') {
		all = all[:n-1]
	}
	return all
}

// readSearchedFile reads a file of at most maxFileBytes.
func readSearchedFile(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readOpenFile(f)
}

func readOpenFile(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, errLarge
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, maxFileBytes+1))
	if err == nil && b.Len() > maxFileBytes {
		err = errLarge
	}
	return b.Bytes(), err
}
