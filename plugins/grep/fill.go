package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// addPageResults adds the files or lines of this page to the result.
func (s *grepCall) addPageResults(f *pageCollector, out *grepOutput) error {
	kept := f.sortedFiles()
	if out.mode != outputContent {
		s.addFileResults(kept, f.limit, out)
	} else if err := s.addLineResults(kept, f, out); err != nil {
		return err
	}
	if out.Next == "" && f.left > 0 && len(kept) > 0 {
		out.Next = pageCursor{kept[len(kept)-1].name, math.MaxInt32}.String() // fewer lines were shown than there was room for
	}
	out.AtLeast = s.multiline && (out.Next != "" || f.left > 0)
	return nil
}

func (s *grepCall) addFileResults(kept []matchingFile, limit int, out *grepOutput) {
	for i, c := range kept {
		if i == limit {
			out.Next = pageCursor{kept[i-1].name, 0}.String()
			break
		}
		out.Files = append(out.Files, fileMatchCount{File: joinPath(s.abs, c.name), Count: c.lines})
	}
	out.Count = len(out.Files)
}

func (s *grepCall) addLineResults(kept []matchingFile, f *pageCollector, out *grepOutput) error {
	for i, p := range s.readMatchesOfFiles(kept, f) {
		c := kept[i]
		if p.err != nil {
			if errors.Is(p.err, errLarge) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s has %s, and is too large to show",
					hiddentext.QuoteUnprintable(joinPath(s.abs, c.name)), formatCount(c.lines, "matching line", "matching lines")))
			}
			continue // gone, or closed, since it was searched
		}
		if room := f.limit - len(out.Matches); len(p.found) > room {
			p.found, p.more = p.found[:room], true
		}
		if s.multiline {
			out.Total += len(p.found)
			if len(p.found) == 0 && s.lastShownLine(c, f) == 0 {
				out.FilesMatched-- // binary, which shows only at its end
			}
		}
		out.Matches = append(out.Matches, p.found...)
		if p.more || (len(out.Matches) == f.limit && i+1 < len(kept)) {
			last := out.Matches[len(out.Matches)-1]
			name, err := filepath.Rel(s.abs, last.File)
			if err != nil {
				return err
			}
			if c.name == "" {
				name = "."
			}
			out.Next = pageCursor{filepath.ToSlash(name), last.Line}.String()
			break
		}
	}
	out.Count = len(out.Matches)
	return nil
}

// lastShownLine returns the number of the last line of a file that an earlier page has shown; 0 for none.
func (s *grepCall) lastShownLine(c matchingFile, f *pageCollector) int {
	if c.name == f.from.name {
		return f.from.line
	}
	return 0
}

// fileMatches are one file's matching lines in a result page.
type fileMatches struct {
	found []lineMatch
	more  bool
	err   error
}

// readMatchesOfFiles reads the matching lines of several files concurrently and yields them in order.
func (s *grepCall) readMatchesOfFiles(kept []matchingFile, f *pageCollector) func(yield func(int, fileMatches) bool) {
	return func(yield func(int, fileMatches) bool) {
		done := make([]chan fileMatches, len(kept))
		for i := range done {
			done[i] = make(chan fileMatches, 1)
		}
		var next atomic.Int64
		var enough atomic.Bool
		var readers sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(kept)) {
			readers.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(kept) && !enough.Load(); i = int(next.Add(1)) - 1 {
					c := kept[i]
					var p fileMatches
					p.found, p.more, p.err = s.readMatchingLines(s.req.Workspace, joinPath(s.path, c.name), joinPath(s.abs, c.name), c.lines,
						s.lastShownLine(c, f), f.limit, s.req.Args.Context)
					done[i] <- p
				}
			})
		}
		for i := range done {
			if !yield(i, <-done[i]) {
				break
			}
		}
		enough.Store(true)
		readers.Wait()
	}
}
