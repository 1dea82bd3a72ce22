// Package terminal writes text, tables and progress for a person, with colours if the stream is a terminal. Files and
// pipes get plain text.
//
// It must not know the meaning of the text.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// Writer writes text for a person to an output stream, and knows whether the stream is a terminal.
type Writer struct {
	io.Writer
	fd       int // -1 if the stream is no terminal
	coloured bool
}

// NewWriter returns a Writer for w. If w is a terminal, it gets colours unless NO_COLOR is set or TERM is dumb.
func NewWriter(w io.Writer) *Writer {
	o := &Writer{Writer: w, fd: -1}
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		o.fd = int(f.Fd())
		o.coloured = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// IsTerminal reports whether the stream is a terminal.
func (o *Writer) IsTerminal() bool { return o.fd >= 0 }

// Width returns the number of columns of the terminal; 0 if the stream is no terminal.
func (o *Writer) Width() int {
	if o.fd < 0 {
		return 0
	}
	width, _, err := term.GetSize(o.fd)
	if err != nil {
		return 0
	}
	return width
}

// Style is a colour or weight of text: the parameter of an ANSI escape sequence.
type Style string

// The styles of text.
const (
	Plain Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Good  Style = "32"
	Bad   Style = "31"
	Doubt Style = "33"
	Name  Style = "36"
)

// Paint returns text in a style if the stream has colours, otherwise unchanged.
func (o *Writer) Paint(s Style, text string) string {
	if !o.coloured || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// CleanLine returns text on one line, with control characters and bidirectional marks replaced.
func CleanLine(text string) string { return replaceControls(lineBreakSpaces.Replace(text)) }

// EscapeLine returns text on one line, with hidden characters escaped. It is for text on which a person decides.
func EscapeLine(text string) string { return hiddentext.Escape(lineBreakSpaces.Replace(text)) }

var lineBreakSpaces = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// ReplaceControls replaces control characters if the stream is a terminal: text of an agent or a file name could otherwise move
// the cursor, change the title or type input. Other streams get text unchanged.
func (o *Writer) ReplaceControls(text string) string {
	if !o.IsTerminal() {
		return text
	}
	return replaceControls(text)
}

// replaceControls replaces control characters and bidirectional marks, except line feeds and tabs.
func replaceControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// Pluralize returns a number with a noun, in the plural unless the number is 1.
func Pluralize(n int, noun string) string {
	switch stem, isY := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case isY:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
