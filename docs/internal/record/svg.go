//go:build unix

package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The terminal, in characters and pixels.
const (
	columns    = 116
	charWidth  = 8
	lineHeight = 19
	margin     = 16
	titleBar   = 32
)

// styledLine is a line on the terminal, with the CSS class of its colour.
type styledLine struct{ class, text string }

// commandLines returns the lines of a command with its prompt.
func commandLines(command string) []styledLine { return wrapLine("typed", "$ "+command) }

// outputLines returns the lines of a command's output, and an empty line.
func outputLines(output string) []styledLine {
	var lines []styledLine
	for text := range strings.Lines(output) {
		text = strings.TrimRight(text, "\n")
		lines = append(lines, wrapLine(lineClass(text), text)...)
	}
	return append(lines, styledLine{})
}

// lineClass returns the CSS class of an output line: error, hint or plain.
func lineClass(text string) string {
	switch {
	case strings.HasPrefix(text, "[ERROR]"):
		return "error"
	case strings.HasPrefix(text, "  rule:"), strings.HasPrefix(text, "  hint:"):
		return "hint"
	default:
		return "plain"
	}
}

// wrapLine breaks a line as a terminal does.
func wrapLine(class, text string) []styledLine {
	var lines []styledLine
	for runes := []rune(text); ; runes = runes[columns:] {
		if len(runes) <= columns {
			return append(lines, styledLine{class, string(runes)})
		}
		lines = append(lines, styledLine{class, string(runes[:columns])})
	}
}

const style = `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.plain{fill:#c9d1d9}.typed{fill:#fff;font-weight:600}.prompt{fill:#3fb950}.note{fill:#8b949e;font-weight:400}.error{fill:#ff7b72}.hint{fill:#d2a8ff}`

// drawSVG returns the lines as an SVG image. Each line has an explicit length, so that it fits in any font.
func drawSVG(lines []styledLine) string {
	for len(lines) > 0 && lines[len(lines)-1].text == "" {
		lines = lines[:len(lines)-1]
	}
	width, height := columns*charWidth+2*margin, len(lines)*lineHeight+titleBar+margin+5
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="A session with picoclaw">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<style>%s</style>\n", style)
	// The border and the title bar tell the window from a page that is as dark.
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%d" height="%d" rx="8" fill="#0d1117" stroke="#30363d"/>`+"\n", width-1,
		height-1)
	fmt.Fprintf(&b, `<path d="M1 %dV9a8 8 0 0 1 8-8H%da8 8 0 0 1 8 8V%dz" fill="#161b22"/>`+"\n", titleBar, width-9,
		titleBar)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="16" r="5" fill="%s"/>`+"\n", margin+6+18*i, colour)
	}
	for i, l := range lines {
		if l.text == "" {
			continue
		}
		text := html.EscapeString(l.text)
		if rest, prompt := strings.CutPrefix(text, "$ "); prompt && l.class == "typed" {
			if command, note, found := strings.Cut(rest, "  # "); found {
				rest = command + `<tspan class="note">  # ` + note + `</tspan>`
			}
			text = `<tspan class="prompt">$</tspan> ` + rest
		}
		fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d" textLength="%d" xml:space="preserve">%s</text>`+"\n",
			l.class, margin, titleBar+(i+1)*lineHeight, utf8.RuneCountInString(l.text)*charWidth, text)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
