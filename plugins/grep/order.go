package main

import (
	"container/heap"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk"
)

// Every engine's results have the same order: directory by directory, names in byte order, lines in file order. The
// contents of a directory follow at the place of its name.

// compareNames compares two names in the order of results: directory by directory.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			// A slash ends a name, so it comes before all that could go on with it.
			switch {
			case a[i] == '/':
				return -1
			case b[i] == '/':
				return 1
			case a[i] < b[i]:
				return -1
			}
			return 1
		}
	}
	return len(a) - len(b)
}

// pageCursor is the position after a page of results: a file's name, and a line.
type pageCursor struct {
	name string
	line int
}

// String returns the cursor as text, with special characters escaped.
func (c pageCursor) String() string {
	return strconv.Itoa(c.line) + ":" + strings.ReplaceAll(url.PathEscape(c.name), "%2F", "/")
}

func parseCursor(s string) (pageCursor, error) {
	line, escaped, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(line)
	name, wrong := url.PathUnescape(escaped)
	if !ok || err != nil || wrong != nil || n < 0 || name == "" {
		return pageCursor{}, sdk.Errorf(sdk.InvalidArgument, "cursor %q is not one that a search has given", s).
			WithHint("pass next of the previous answer, or nothing to start at the beginning")
	}
	return pageCursor{name, n}, nil
}

// matchingFile is a file with its number of matching lines.
type matchingFile struct {
	name  string
	lines int // 0 if not known
}

// pageCollector collects the first files that fit into a page, and counts all. It may be used concurrently.
type pageCollector struct {
	limit int // matches, or files
	files bool
	from  pageCursor

	mu    sync.Mutex
	kept  fileHeap
	held  int // matches in kept, as far as known, or files
	total int // lines in all files, as far as known
	count int // files
	left  int // files that are not kept though they come after the cursor
}

func (f *pageCollector) addFile(name string, lines int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.total += lines
	if f.from.name != "" {
		if c := compareNames(name, f.from.name); c < 0 || (c == 0 && f.files) {
			return
		}
	}
	if f.isFull() && compareNames(name, f.kept[0].name) > 0 {
		f.left++
		return
	}
	if name == f.from.name && !f.files {
		lines = 0 // how many of them come after the cursor is not known
	}
	heap.Push(&f.kept, matchingFile{name, lines})
	f.held += f.minResults(lines)
	// One file more than is needed is kept: whether there is a next page can be told from it.
	for f.held-f.minResults(f.kept[0].lines) > f.limit && len(f.kept) > 1 {
		out := heap.Pop(&f.kept).(matchingFile)
		f.held -= f.minResults(out.lines)
		f.left++
	}
}

func (f *pageCollector) isFull() bool { return len(f.kept) > 0 && f.held > f.limit }

// minResults returns the minimum number of results for a file.
func (f *pageCollector) minResults(lines int) int {
	if f.files {
		return 1
	}
	return max(lines, 1)
}

// sortedFiles returns the collected files in order.
func (f *pageCollector) sortedFiles() []matchingFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.kept)
	slices.SortFunc(out, func(a, b matchingFile) int { return compareNames(a.name, b.name) })
	return out
}

// fileHeap is a heap of files with the last one, in result order, on top.
type fileHeap []matchingFile

func (h fileHeap) Len() int           { return len(h) }
func (h fileHeap) Less(i, j int) bool { return compareNames(h[i].name, h[j].name) > 0 }
func (h fileHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *fileHeap) Push(x any) { *h = append(*h, x.(matchingFile)) }

// Pop implements [heap.Interface].
func (h *fileHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
