package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/replace"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

// textReplacement is one replacement in a file, with its preview and notes.
type textReplacement struct {
	old, new string
	count    int // as replace.Find takes it
	encoding string
	names    textArgumentNames
	show     bool // make a preview

	times   int
	note    string
	preview string
}

// textArgumentNames are the names of the arguments with the old and new text, for messages.
type textArgumentNames struct{ old, new string }

// replaceText returns a file's contents after the replacement. All other bytes stay unchanged.
func (r *textReplacement) replaceText(c *originalFile) ([]byte, error) {
	data, err := c.readBytes()
	if err != nil {
		return nil, err
	}
	enc, err := chooseEncoding(data, r.encoding)
	if err != nil {
		return nil, err
	}
	s, err := enc.Decode(data)
	if err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "failed to edit file: %v", err)
	}
	f, err := replace.FindReplacements(s, r.old, r.new, r.count)
	if err != nil {
		return nil, r.newMatchError(err, c, s)
	}
	if err = r.checkEncoding(s, enc, f); err != nil {
		return nil, err
	}
	r.times, r.note = len(f.Splices), r.describeInexactMatch(f, s)
	first, last := f.Splices[0], f.Splices[len(f.Splices)-1]
	grown := 0
	for _, splice := range slices.Backward(f.Splices) {
		if data, err = enc.ReplaceRange(data, s, splice.From, splice.To, splice.New); err != nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "failed to edit file: %v", err)
		}
		s = s[:splice.From] + splice.New + s[splice.To:]
		grown += len(splice.New) - (splice.To - splice.From)
	}
	r.preview = ""
	if r.show && !c.isReadForbidden() {
		r.preview = formatPreview(s, first.From, max(first.From, min(last.To+grown, len(s))), len(f.Splices))
	}
	return data, nil
}

// checkEncoding returns an error if the replacement would mix two encodings in the file.
func (r *textReplacement) checkEncoding(s string, enc text.Encoding, f *replace.Replacements) error {
	for _, splice := range f.Splices {
		if !fitsEncoding(s, enc, splice.New) {
			return sdk.Errorf(sdk.InvalidArgument,
				"failed to edit file: the file is not UTF-8, and %s is not plain ASCII; nothing was changed", r.names.new).
				WithHint("name the file's encoding, such as encoding=windows-1252")
		}
	}
	return nil
}

// fitsEncoding reports whether added text can be written in the file's encoding. In an unknown 8-bit encoding, only
// ASCII can.
func fitsEncoding(s string, enc text.Encoding, added string) bool {
	return !enc.IsPassthrough() || !strings.ContainsFunc(added, func(c rune) bool { return c >= utf8.RuneSelf }) ||
		utf8.ValidString(s)
}

// describeInexactMatch returns a note about an inexact match or too few occurrences; empty for an exact match.
func (r *textReplacement) describeInexactMatch(f *replace.Replacements, s string) string {
	if f.How == replace.Exactly {
		if n := len(f.Splices); n < r.count {
			return fmt.Sprintf("%s occurs %s, fewer than count (%d); all were replaced", r.names.old, formatRepeatCount(n), r.count)
		}
		return ""
	}
	how := "other line endings; the file's line endings stay"
	if f.How == replace.Indentation {
		how = "another unit of indentation; that of the file was used"
	}
	return fmt.Sprintf("%s was found at line %d with %s", r.names.old, text.LineNumberAt(s, f.Splices[0].From), how)
}

// formatRepeatCount returns a count such as "once" or "3 times".
func formatRepeatCount(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// newMatchError returns the error for text that does not occur, or occurs too often, with the places in the file.
func (r *textReplacement) newMatchError(err error, c *originalFile, s string) error {
	var ambiguous *replace.AmbiguousMatchError
	var miss *replace.TextNotFoundError
	switch {
	case errors.As(err, &replace.EmptyTextError{}):
		return sdk.Errorf(sdk.InvalidArgument, "%s is empty", r.names.old).
			WithHint("name the text to replace; append_file, insert and write_file add text")
	case errors.As(err, &replace.SameTextError{}):
		return sdk.Errorf(sdk.InvalidArgument, "%s and %s are the same; nothing to edit", r.names.old, r.names.new)
	case errors.As(err, &ambiguous):
		e := sdk.Errorf(sdk.Conflict, "%s appears %d times. Please provide more context to make it unique", r.names.old,
			ambiguous.Count)
		if !c.isReadForbidden() {
			e.Message += "\n" + formatLineNumbers(ambiguous)
		}
		return e
	case errors.As(err, &miss):
		e := sdk.Errorf(sdk.NotFound, "%s not found in file. Make sure it matches exactly", r.names.old)
		switch {
		case c.isReadForbidden():
		case r.fileLacksFinalNewline(s):
			e.Message += fmt.Sprintf("\nthe file ends without a newline: leave the one at the end of %s out", r.names.old)
		case len(miss.Nearest) > 0:
			e.Message += "\n" + formatSimilarPlaces(miss.Nearest)
		}
		return e
	}
	return err
}

// fileLacksFinalNewline reports whether only a newline is missing: the old text ends with one, and the file ends with
// the same text without it.
func (r *textReplacement) fileLacksFinalNewline(s string) bool {
	lines := strings.NewReplacer("\r\n", "\n")
	old, ok := strings.CutSuffix(lines.Replace(r.old), "\n")
	return ok && old != "" && strings.HasSuffix(lines.Replace(s), old)
}

func formatLineNumbers(e *replace.AmbiguousMatchError) string {
	numbers := make([]string, len(e.Lines))
	for i, line := range e.Lines {
		numbers[i] = fmt.Sprint(line)
	}
	out := "on lines " + strings.Join(numbers, ", ")
	if len(numbers) == 1 && !e.More {
		out = "on line " + numbers[0]
	}
	if e.More {
		out += " and more"
	}
	if e.How != replace.Exactly {
		out += ", with other line endings or indentation"
	}
	return out
}

// formatSimilarPlaces shows the places most similar to the missing text.
func formatSimilarPlaces(nearest []replace.SimilarLines) string {
	var b strings.Builder
	b.WriteString("nearest in the file (· is a space, → a tab, ␍ a carriage return):")
	for _, p := range nearest {
		width := len(fmt.Sprint(p.Last))
		for i, line := range p.Lines {
			fmt.Fprintf(&b, "\n%*d│%s", width, p.First+i, clipLine(text.ShowWhitespace(line)))
		}
		if more := p.Last - p.First + 1 - len(p.Lines); more > 0 {
			fmt.Fprintf(&b, "\n(%d more lines)", more)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxQuotedBytes limits a quoted line in a message.
const maxQuotedBytes = 400

func clipLine(line string) string {
	if len(line) <= maxQuotedBytes {
		return line
	}
	end := maxQuotedBytes
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return fmt.Sprintf("%s…(%d more bytes)", line[:end], len(line)-end)
}

const (
	contextLines    = 3   // round a changed place
	maxPreviewLines = 200 // lines
)

// formatPreview returns the changed lines with line numbers and context.
func formatPreview(s string, from, to, times int) string {
	if times > 1 {
		to = from // the first of several
	}
	around, first := text.LinesAround(s, from, to, contextLines)
	lines := strings.SplitAfterN(around, "\n", maxPreviewLines+1)
	if len(lines) > maxPreviewLines {
		lines = lines[:maxPreviewLines]
	}
	for i, line := range lines {
		if len(line) > maxQuotedBytes {
			lines[i] = clipLine(strings.TrimRight(line, "\r\n")) + "\n"
		}
	}
	return text.AddLineNumbers(strings.Join(lines, ""), first, first+len(lines)-1)
}
