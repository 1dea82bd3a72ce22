package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// addPageResults adds the files or lines of this page to the result. files are the matching files from the cursor.
func (s *grepCall) addPageResults(files []matchingFile, from pageCursor, limit int, out *grepOutput) {
	if out.mode == outputContent {
		s.addLineResults(files, from, limit, out)
		out.Count, out.AtLeast = len(out.Matches), s.multiline && out.Next != ""
		return
	}
	if len(files) > 0 && files[0].name == from.name {
		files = files[1:]
	}
	for _, c := range files[:min(len(files), limit)] {
		out.Files = append(out.Files, fileMatchCount{File: joinPath(s.abs, c.name), Count: c.lines})
	}
	if len(files) > limit {
		out.Next = pageCursor{files[limit-1].name, 0}.String()
	}
	out.Count = len(out.Files)
}

func (s *grepCall) addLineResults(files []matchingFile, from pageCursor, limit int, out *grepOutput) {
	var last pageCursor // of the shown lines
	for _, c := range files {
		known, after := c.lines, 0
		if c.name == from.name {
			known, after = 0, from.line
		}
		room := limit - len(out.Matches)
		if room == 0 {
			out.Next = last.String()
			return
		}
		found, more, err := s.readMatchingLines(s.req.Workspace, joinPath(s.path, c.name), joinPath(s.abs, c.name), known, after, room,
			s.req.Args.Context)
		if errors.Is(err, errLarge) {
			out.Notes = append(out.Notes, fmt.Sprintf("%s has %s, and is too large to show",
				hiddentext.QuoteUnprintable(joinPath(s.abs, c.name)), formatCount(c.lines, "matching line", "matching lines")))
		}
		if len(found) == 0 {
			if s.multiline && after == 0 {
				out.FilesMatched-- // ripgrep's pattern also matches in other places
			}
			continue // or the file was changed since it was searched, or the page before ended with it
		}
		out.Matches = append(out.Matches, found...)
		last = pageCursor{cmp.Or(c.name, "."), found[len(found)-1].Line}
		if s.multiline {
			out.Total += len(found)
		}
		if more {
			out.Next = last.String()
			return
		}
	}
}

// lineMatch is a matching line in the result, or a match across lines.
type lineMatch struct {
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Column int      `json:"column" jsonschema:"Start of the match in the line, in bytes, from 1."`
	Text   string   `json:"text" jsonschema:"The line; for a long line, the text around the match."`
	Before []string `json:"before,omitempty" jsonschema:"Lines before the match, as set by context."`
	After  []string `json:"after,omitempty"`
}

const (
	maxText = 500 // how much of a line is returned, in bytes
	lead    = 120 // how much of it before the match
)

// readMatchingLines returns the matching lines of a file after line number after, with context, at most limit of them.
// more reports whether the file has others. known is the number of matching lines, or 0.
func (q *grepQuery) readMatchingLines(w *workspace.Workspace, path, shown string, known, after, limit, context int) (found []lineMatch,
	more bool, err error) {
	data, err := readSearchedFile(w, path)
	if err != nil {
		return nil, false, err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, false, nil // binary, and perhaps something else than a moment ago
	}
	lines := bytes.SplitAfter(data, []byte{'\n'})
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	add := func(line, column int, text []byte) bool {
		if line <= after {
			return true
		}
		if len(found) == limit {
			more = true
			return false
		}
		m := lineMatch{File: shown, Line: line, Column: column, Text: clipLine(text, column-1)}
		for i := max(1, line-context); i < line; i++ {
			m.Before = append(m.Before, clipLine(lines[i-1], 0))
		}
		last := line + bytes.Count(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
		for i := last + 1; i <= min(len(lines), last+context); i++ {
			m.After = append(m.After, clipLine(lines[i-1], 0))
		}
		found = append(found, m)
		return true
	}
	if q.multiline {
		q.forEachMultilineMatch(data, add)
		return found, more, nil
	}
	seen := 0
	for i, line := range lines {
		at := q.re.FindIndex(bytes.TrimSuffix(line, []byte{'\n'}))
		if at == nil {
			continue
		}
		if !add(i+1, at[0]+1, line) {
			break
		}
		if seen++; seen == known {
			break
		}
	}
	return found, more, nil
}

// forEachMultilineMatch calls add for each match across lines, with the lines of the match, until add returns false.
func (q *grepQuery) forEachMultilineMatch(data []byte, add func(line, column int, text []byte) bool) {
	line, counted := 1, 0
	for _, at := range q.findMultilineMatches(data) {
		line += bytes.Count(data[counted:at[0]], []byte{'\n'})
		counted = at[0]
		start := bytes.LastIndexByte(data[:at[0]], '\n') + 1
		end := len(data)
		if to := max(at[0], at[1]-1); to < len(data) {
			if next := bytes.IndexByte(data[to:], '\n'); next >= 0 {
				end = to + next
			}
		}
		if !add(line, at[0]-start+1, data[start:end]) {
			return
		}
	}
}

// clipLine shortens a line to the part around a column.
func clipLine(line []byte, around int) string {
	line = bytes.TrimRight(line, "\r\n")
	from, to := 0, len(line)
	if len(line) > maxText {
		from = max(0, min(around-lead, len(line)-maxText))
		to = min(len(line), from+maxText)
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
		for to < len(line) && !utf8.RuneStart(line[to]) {
			to++
		}
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

// joinPath appends a name to a path. The empty name returns the path.
func joinPath(path, name string) string {
	if name == "" {
		return path
	}
	return filepath.Join(path, filepath.FromSlash(name))
}
