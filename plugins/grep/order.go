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

// Results are in one order whatever the engine: directory by directory, names in the order of their bytes, a file's
// lines from the top. A directory comes where its name does, with everything in it.

// before compares two names in that order.
func before(a, b string) int {
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

// cursor is where a page of results ends.
type cursor struct {
	name string
	line int
}

// String is made of characters that come through every answer and back: names may have any.
func (c cursor) String() string {
	return strconv.Itoa(c.line) + ":" + strings.ReplaceAll(url.PathEscape(c.name), "%2F", "/")
}

func parseCursor(s string) (cursor, error) {
	line, escaped, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(line)
	name, wrong := url.PathUnescape(escaped)
	if !ok || err != nil || wrong != nil || n < 0 || name == "" {
		return cursor{}, sdk.Errorf(sdk.InvalidArgument, "cursor %q is not one that a search has given", s).
			WithHint("give what the last answer calls next, or nothing to begin at the beginning")
	}
	return cursor{name, n}, nil
}

// candidate is a file with matches.
type candidate struct {
	name  string
	lines int // 0 if not known
}

// first keeps the first files of all that are found, in order, as many as can have a place in the answer; and counts
// all. It may be used by several goroutines.
type first struct {
	limit int // matches, or files
	files bool
	from  cursor

	mu    sync.Mutex
	kept  lastOnTop
	held  int // matches in kept, as far as known, or files
	total int // lines in all files, as far as known
	count int // files
	left  int // files that are not kept though they come after the cursor
}

func (f *first) add(name string, lines int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.total += lines
	if f.from.name != "" {
		if c := before(name, f.from.name); c < 0 || (c == 0 && f.files) {
			return
		}
	}
	if f.full() && before(name, f.kept[0].name) > 0 {
		f.left++
		return
	}
	if name == f.from.name && !f.files {
		lines = 0 // how many of them come after the cursor is not known
	}
	heap.Push(&f.kept, candidate{name, lines})
	f.held += f.weight(lines)
	// One file more than is needed is kept: whether there is a next page can be told from it.
	for f.held-f.weight(f.kept[0].lines) > f.limit && len(f.kept) > 1 {
		out := heap.Pop(&f.kept).(candidate)
		f.held -= f.weight(out.lines)
		f.left++
	}
}

func (f *first) full() bool { return len(f.kept) > 0 && f.held > f.limit }

// weight is how many places a file takes at least.
func (f *first) weight(lines int) int {
	if f.files {
		return 1
	}
	return max(lines, 1)
}

// sorted returns what was kept, in order.
func (f *first) sorted() []candidate {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.kept)
	slices.SortFunc(out, func(a, b candidate) int { return before(a.name, b.name) })
	return out
}

// lastOnTop is a heap of files with the last one on top.
type lastOnTop []candidate

func (h lastOnTop) Len() int           { return len(h) }
func (h lastOnTop) Less(i, j int) bool { return before(h[i].name, h[j].name) > 0 }
func (h lastOnTop) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for heap's use.
func (h *lastOnTop) Push(x any) { *h = append(*h, x.(candidate)) }

// Pop is for heap's use.
func (h *lastOnTop) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
