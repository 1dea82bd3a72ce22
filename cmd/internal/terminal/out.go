// Package terminal shows results to a person: colour, tables and progress, as far as what is at the other end of a
// stream can show them. A file or a pipe gets plain text.
//
// It must not know what is shown.
package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// Out is a stream that somebody reads.
type Out struct {
	io.Writer
	fd       int // -1 for what is no terminal
	coloured bool
}

// New looks at what a stream leads to. On a terminal there is colour, unless the variable NO_COLOR is set to anything
// or TERM is dumb.
func New(w io.Writer) *Out {
	o := &Out{Writer: w, fd: -1}
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		o.fd = int(f.Fd())
		o.coloured = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// IsTerminal reports whether a person sees this as it is written.
func (o *Out) IsTerminal() bool { return o.fd >= 0 }

// Width is how many columns there are; 0 for no limit.
func (o *Out) Width() int {
	if o.fd < 0 {
		return 0
	}
	width, _, err := term.GetSize(o.fd)
	if err != nil {
		return 0
	}
	return width
}

// Style is how a text looks.
type Style string

// The styles.
const (
	Plain Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Good  Style = "32"
	Bad   Style = "31"
	Doubt Style = "33"
	Name  Style = "36"
)

// Paint returns text in a style, where there is colour.
func (o *Out) Paint(s Style, text string) string {
	if !o.coloured || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Line returns text as it can stand in one line of a terminal: control characters, and those that turn the direction of
// writing, are replaced.
func Line(text string) string { return cleanText(oneLine.Replace(text)) }

// Exact returns text in one line for a person who decides on it: hidden characters are escaped, so that each is seen.
func Exact(text string) string { return hiddentext.Escape(oneLine.Replace(text)) }

var oneLine = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// Clean returns text as it can be shown on a terminal, where what an agent has written, or the name of a file, could
// otherwise move the cursor, change the title or type for the person. What goes elsewhere is left as it is.
func (o *Out) Clean(text string) string {
	if !o.IsTerminal() {
		return text
	}
	return cleanText(text)
}

func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
