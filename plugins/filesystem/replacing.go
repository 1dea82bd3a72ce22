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

// replacing is one replacement in a file, and what has become of it.
type replacing struct {
	old, new string
	count    int // as replace.Find takes it
	encoding string
	names    fieldNames
	show     bool // make a preview

	times   int
	note    string
	preview string
}

// fieldNames are the names of the old and the new text in the vocabulary of the call, for messages.
type fieldNames struct{ old, new string }

// make replaces, and touches no byte outside of what is replaced.
func (r *replacing) make(c *existing) ([]byte, error) {
	data, err := c.bytes()
	if err != nil {
		return nil, err
	}
	enc, err := encodingOf(data, r.encoding)
	if err != nil {
		return nil, err
	}
	s, err := enc.Decode(data)
	if err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "failed to edit file: %v", err)
	}
	f, err := replace.Find(s, r.old, r.new, r.count)
	if err != nil {
		return nil, r.failure(err, c)
	}
	if err := r.fits(s, enc, f); err != nil {
		return nil, err
	}
	r.times, r.note = len(f.Splices), r.found(f, s)
	first, last := f.Splices[0], f.Splices[len(f.Splices)-1]
	grown := 0
	for _, splice := range slices.Backward(f.Splices) {
		if data, err = enc.Splice(data, s, splice.From, splice.To, splice.New); err != nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "failed to edit file: %v", err)
		}
		s = s[:splice.From] + splice.New + s[splice.To:]
		grown += len(splice.New) - (splice.To - splice.From)
	}
	r.preview = ""
	if r.show && !c.shut() {
		r.preview = preview(s, first.From, max(first.From, min(last.To+grown, len(s))), len(f.Splices))
	}
	return data, nil
}

// fits refuses text that the file can't take without being two encodings at once.
func (r *replacing) fits(s string, enc text.Encoding, f *replace.Found) error {
	for _, splice := range f.Splices {
		if !fits(s, enc, splice.New) {
			return sdk.Errorf(sdk.InvalidArgument,
				"failed to edit file: the file is not UTF-8, and %s is not plain ASCII; nothing was changed", r.names.new).
				WithHint("name the file's encoding, such as encoding=windows-1252")
		}
	}
	return nil
}

// fits reports whether a file is in one encoding still with something added: one that is not UTF-8, and has no other
// name, takes ASCII only.
func fits(s string, enc text.Encoding, added string) bool {
	return !enc.Plain() || !strings.ContainsFunc(added, func(c rune) bool { return c >= utf8.RuneSelf }) ||
		utf8.ValidString(s)
}

// found says when a place was not exactly what was looked for, or when there were fewer.
func (r *replacing) found(f *replace.Found, s string) string {
	if f.How == replace.Exactly {
		if n := len(f.Splices); n < r.count {
			return fmt.Sprintf("%s is there %s, not the %d that count says; all were replaced", r.names.old, times(n), r.count)
		}
		return ""
	}
	how := "other line endings; those of the file were kept"
	if f.How == replace.Indentation {
		how = "another unit of indentation; that of the file was used"
	}
	return fmt.Sprintf("%s was found at line %d with %s", r.names.old, text.LineAt(s, f.Splices[0].From), how)
}

// times is a number of times in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// failure says why nothing was replaced, in the words that agents know, and what the file has instead.
func (r *replacing) failure(err error, c *existing) error {
	var ambiguous *replace.Ambiguous
	var miss *replace.Miss
	switch {
	case errors.As(err, &replace.Empty{}):
		return sdk.Errorf(sdk.InvalidArgument, "%s is empty", r.names.old).
			WithHint("say which text to replace; append_file, insert and write_file add text")
	case errors.As(err, &replace.Same{}):
		return sdk.Errorf(sdk.InvalidArgument, "%s and %s are the same; nothing to edit", r.names.old, r.names.new)
	case errors.As(err, &ambiguous):
		e := sdk.Errorf(sdk.Conflict, "%s appears %d times. Please provide more context to make it unique", r.names.old,
			ambiguous.Count)
		if !c.shut() {
			e.Message += "\n" + onLines(ambiguous)
		}
		return e
	case errors.As(err, &miss):
		e := sdk.Errorf(sdk.NotFound, "%s not found in file. Make sure it matches exactly", r.names.old)
		if len(miss.Nearest) > 0 && !c.shut() {
			e.Message += "\n" + places(miss.Nearest)
		}
		return e
	}
	return err
}

func onLines(e *replace.Ambiguous) string {
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

// places shows what is like the text that is not there.
func places(nearest []replace.Place) string {
	var b strings.Builder
	b.WriteString("nearest in the file (· is a space, → a tab, ␍ a carriage return):")
	for _, p := range nearest {
		width := len(fmt.Sprint(p.Last))
		for i, line := range p.Lines {
			fmt.Fprintf(&b, "\n%*d│%s", width, p.First+i, clipped(text.Visible(line)))
		}
		if more := p.Last - p.First + 1 - len(p.Lines); more > 0 {
			fmt.Fprintf(&b, "\n(%d more lines)", more)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// longestShown is how much of one line a message shows, in bytes.
const longestShown = 400

func clipped(line string) string {
	if len(line) <= longestShown {
		return line
	}
	end := longestShown
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return fmt.Sprintf("%s…(%d more bytes)", line[:end], len(line)-end)
}

const (
	contextLines  = 3   // round a changed place
	mostPreviewed = 200 // lines
)

// preview shows a changed place in its file, with numbers.
func preview(s string, from, to, times int) string {
	if times > 1 {
		to = from // the first of several
	}
	around, first := text.Around(s, from, to, contextLines)
	lines := strings.SplitAfterN(around, "\n", mostPreviewed+1)
	if len(lines) > mostPreviewed {
		lines = lines[:mostPreviewed]
	}
	for i, line := range lines {
		if len(line) > longestShown {
			lines[i] = clipped(strings.TrimRight(line, "\r\n")) + "\n"
		}
	}
	return text.Number(strings.Join(lines, ""), first, first+len(lines)-1)
}
