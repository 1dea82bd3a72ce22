package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

type grepOutput struct {
	Matches       []lineMatch           `json:"matches"`
	Count         int                   `json:"count" jsonschema:"Number of matches or files here."`
	Files         []fileMatchCount      `json:"files,omitempty" jsonschema:"Instead of matches, if output is files or count."`
	Total         int                   `json:"total" jsonschema:"Total number of matching lines."`
	AtLeast       bool                  `json:"at_least,omitempty" jsonschema:"More results exist than total."`
	FilesMatched  int                   `json:"files_matched"`
	FilesSearched int                   `json:"files_searched"`
	Next          string                `json:"next,omitempty" jsonschema:"Value of cursor for the next page."`
	Gitignore     bool                  `json:"gitignore" jsonschema:"Files named by .gitignore were skipped."`
	LeftOut       []skippedMatchingFile `json:"left_out,omitempty" jsonschema:"Some skipped files with matches; only if no other file matches."`
	LeftOutCount  int                   `json:"left_out_count,omitempty" jsonschema:"Number of these files."`
	Ignored       int                   `json:"ignored" jsonschema:"Number of skipped files and directories named by .gitignore files."`
	Binary        int                   `json:"binary" jsonschema:"Binary files with matches, which are not shown."`
	TooLarge      int                   `json:"too_large,omitempty" jsonschema:"Files not searched because of their size."`
	Closed        int                   `json:"unreadable,omitempty" jsonschema:"Files and directories that must not be read."`
	Incomplete    string                `json:"incomplete,omitempty" jsonschema:"Reason why results may be missing."`
	Failed        string                `json:"failed,omitempty" jsonschema:"Errors of files that could not be searched."`
	Notes         []string              `json:"notes,omitempty"`
	Engine        string                `json:"engine,omitempty"`

	mode string
}

// fileMatchCount is a file with its number of matching lines in the result.
type fileMatchCount struct {
	File  string `json:"file"`
	Count int    `json:"count,omitempty" jsonschema:"Matching lines."`
}

// skippedMatchingFile is a file that was not searched at first and has matches.
type skippedMatchingFile struct {
	File string `json:"file"`
	Why  string `json:"why" jsonschema:"ignored or binary."`
}

// Reasons why a file was not searched.
const (
	whyIgnored = "ignored"
	whyBinary  = "binary"
)

// Text returns a line for each match as grep prints it, and a last line about the search.
func (o grepOutput) Text() string {
	var b strings.Builder
	for i, m := range o.Matches {
		context := len(m.Before)+len(m.After) > 0
		if context && i > 0 {
			b.WriteString("--\n")
		}
		name := hiddentext.QuoteUnprintable(m.File)
		for j, line := range m.Before {
			fmt.Fprintf(&b, "%s-%d- %s\n", name, m.Line-len(m.Before)+j, escapeControls(line))
		}
		lines := strings.Split(m.Text, "\n")
		for j, line := range lines {
			fmt.Fprintf(&b, "%s:%d: %s\n", name, m.Line+j, escapeControls(line))
		}
		for j, line := range m.After {
			fmt.Fprintf(&b, "%s-%d- %s\n", name, m.Line+len(lines)+j, escapeControls(line))
		}
	}
	for _, f := range o.Files {
		b.WriteString(hiddentext.QuoteUnprintable(f.File))
		if o.mode == outputCount {
			fmt.Fprintf(&b, ":%d", f.Count)
		}
		b.WriteByte('\n')
	}
	b.WriteString(o.formatSummary())
	return b.String()
}

// formatSummary returns the line about results, searched and skipped files.
func (o grepOutput) formatSummary() string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	atLeast := ""
	if o.AtLeast {
		atLeast = "at least "
	}
	switch {
	case o.FilesMatched == 0:
		say("no matches")
	case o.mode == outputContent && o.Count < o.Total:
		say("%d of %s%s", o.Count, atLeast, formatCount(o.Total, "match", "matches"))
	case o.mode == outputContent:
		say("%s%s", atLeast, formatCount(o.Total, "match", "matches"))
	default:
		say("%d of %s with matches", o.Count, formatCount(o.FilesMatched, "file", "files"))
	}
	if o.FilesMatched > 0 && o.mode == outputContent {
		said[0] += " in " + formatCount(o.FilesMatched, "file", "files")
	}
	if o.FilesSearched > 0 {
		said[0] += fmt.Sprintf(", %s searched", formatCount(o.FilesSearched, "file", "files"))
	}
	if left := o.describeSkipped(); len(left) > 0 {
		say("left out: %s", strings.Join(left, ", "))
	}
	if o.LeftOutCount > 0 {
		names := make([]string, len(o.LeftOut))
		for i, l := range o.LeftOut {
			names[i] = fmt.Sprintf("%s (%s)", hiddentext.QuoteUnprintable(l.File), l.Why)
		}
		say("of those, %s matches: %s", formatCount(o.LeftOutCount, "has", "have"), strings.Join(names, ", "))
	}
	for _, more := range append([]string{o.Incomplete, o.Failed}, o.Notes...) {
		if more != "" {
			say("%s", escapeControls(more))
		}
	}
	if o.Next != "" {
		say("next: cursor=%s", hiddentext.QuoteUnprintable(o.Next))
	}
	return "[" + strings.Join(said, "; ") + "]"
}

// describeSkipped returns the numbers of files that were left out, with the reasons.
func (o grepOutput) describeSkipped() (said []string) {
	for _, left := range []struct {
		n         int
		one, many string
	}{
		{o.Ignored, "file or directory that .gitignore names", "files or directories that .gitignore names"},
		{o.Binary, "binary file", "binary files"},
		{o.TooLarge, "file that is too large", "files that are too large"},
		{o.Closed, "file or directory that may not be read", "files or directories that may not be read"},
	} {
		if left.n > 0 {
			said = append(said, formatCount(left.n, left.one, left.many))
		}
	}
	return said
}

// formatCount returns a number with its noun in singular or plural.
func formatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// escapeControls escapes control characters except tabs, so that text can't control a terminal.
func escapeControls(text string) string {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
	if !strings.ContainsFunc(text, control) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !control(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
