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

// fill puts into the answer what is shown of the files that were found first.
func (s *search) fill(f *first, out *grepOutput) error {
	kept := f.sorted()
	if out.mode != outputContent {
		s.fillNames(kept, f.limit, out)
	} else if err := s.fillLines(kept, f, out); err != nil {
		return err
	}
	if out.Next == "" && f.left > 0 && len(kept) > 0 {
		out.Next = cursor{kept[len(kept)-1].name, math.MaxInt32}.String() // fewer lines were shown than there was room for
	}
	out.AtLeast = s.multiline && (out.Next != "" || f.left > 0)
	return nil
}

func (s *search) fillNames(kept []candidate, limit int, out *grepOutput) {
	for i, c := range kept {
		if i == limit {
			out.Next = cursor{kept[i-1].name, 0}.String()
			break
		}
		out.Files = append(out.Files, fileCount{File: join(s.abs, c.name), Count: c.lines})
	}
	out.Count = len(out.Files)
}

func (s *search) fillLines(kept []candidate, f *first, out *grepOutput) error {
	for i, p := range s.pages(kept, f) {
		c := kept[i]
		if p.err != nil {
			if errors.Is(p.err, errLarge) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s has %s, and is too large to show",
					hiddentext.QuoteName(join(s.abs, c.name)), number(c.lines, "matching line", "matching lines")))
			}
			continue // gone, or closed, since it was searched
		}
		if room := f.limit - len(out.Matches); len(p.found) > room {
			p.found, p.more = p.found[:room], true
		}
		if s.multiline {
			out.Total += len(p.found)
			if len(p.found) == 0 && s.after(c, f) == 0 {
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
			out.Next = cursor{filepath.ToSlash(name), last.Line}.String()
			break
		}
	}
	out.Count = len(out.Matches)
	return nil
}

// after is the line of a file behind which this page begins.
func (s *search) after(c candidate, f *first) int {
	if c.name == f.from.name {
		return f.from.line
	}
	return 0
}

// page is what one file has for the answer.
type page struct {
	found []match
	more  bool
	err   error
}

// pages reads files for their matching lines, several at a time, and yields what they have in order.
func (s *search) pages(kept []candidate, f *first) func(yield func(int, page) bool) {
	return func(yield func(int, page) bool) {
		done := make([]chan page, len(kept))
		for i := range done {
			done[i] = make(chan page, 1)
		}
		var next atomic.Int64
		var enough atomic.Bool
		var readers sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(kept)) {
			readers.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(kept) && !enough.Load(); i = int(next.Add(1)) - 1 {
					c := kept[i]
					var p page
					p.found, p.more, p.err = s.details(s.req.Workspace, join(s.path, c.name), join(s.abs, c.name), c.lines,
						s.after(c, f), f.limit, s.req.Args.Context)
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
