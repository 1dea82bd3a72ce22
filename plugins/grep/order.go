package main

import (
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

// pageCollector collects the files with matches. It may be used concurrently.
type pageCollector struct {
	mu    sync.Mutex
	files []matchingFile
	total int // lines in all files, as far as known
}

func (f *pageCollector) addFile(name string, lines int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, matchingFile{name, lines})
	f.total += lines
}

// filesFrom returns the files in order, from the one that the cursor names.
func (f *pageCollector) filesFrom(from pageCursor) []matchingFile {
	slices.SortFunc(f.files, func(a, b matchingFile) int { return compareNames(a.name, b.name) })
	at, _ := slices.BinarySearchFunc(f.files, from.name, func(a matchingFile, name string) int { return compareNames(a.name, name) })
	return f.files[at:]
}
