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

// own is the engine that needs nothing: it looks for itself.
type own struct{}

func (own) name() string      { return "built-in" }
func (own) takes(*query) bool { return true }

// largestFile is the longest file that is searched without a program, in bytes.
const largestFile = 64 << 20

func (own) files(ctx context.Context, w *workspace.Workspace, path string, q *query, found func(string, int)) (tally,
	error) {
	var t tally
	var mu sync.Mutex
	var workers sync.WaitGroup
	names := make(chan string, 256)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range names {
				data, err := readWhole(w, join(path, name))
				searched := false
				mu.Lock()
				switch {
				case errors.Is(err, errLarge):
					t.tooLarge++
				case errors.Is(err, fs.ErrPermission):
					t.closed++
				case err != nil: // gone
				case !q.text && isBinary(data):
					t.binary++
				default:
					t.searched++
					searched = true
				}
				mu.Unlock()
				if !searched || ctx.Err() != nil {
					continue
				}
				switch n := q.count(data); {
				case n > 0 && q.multiline:
					found(name, 0) // as the others, who can't count these
				case n > 0:
					found(name, n)
				}
			}
		})
	}
	var outline tally
	err := q.walk(ctx, w, path, &outline, func(name string) { names <- name }, nil)
	close(names)
	workers.Wait()
	t.ignored, t.notes = outline.ignored, outline.notes
	t.closed += outline.closed
	return t, err
}

// count counts the lines that match, or across lines the matches.
func (q *query) count(data []byte) int {
	if q.multiline {
		return len(q.matches(data))
	}
	n := 0
	for line := range bytes.Lines(data) {
		if q.re.Match(bytes.TrimSuffix(line, []byte{'\n'})) {
			n++
		}
	}
	return n
}

// matches finds the matches across lines. An empty one behind the last line break is on no line.
func (q *query) matches(data []byte) [][]int {
	all := q.re.FindAllIndex(data, -1)
	if n := len(all); n > 0 && all[n-1][0] == len(data) && (len(data) == 0 || data[len(data)-1] == '\n') {
		all = all[:n-1]
	}
	return all
}

// readWhole reads a file that is not too long.
func readWhole(w *workspace.Workspace, path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readOpen(f)
}

func readOpen(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > largestFile {
		return nil, errLarge
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, largestFile+1))
	if err == nil && b.Len() > largestFile {
		err = errLarge
	}
	return b.Bytes(), err
}
