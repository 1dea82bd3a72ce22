package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columnGap separates two columns.
const columnGap = "  "

// Table collects rows and writes them in aligned columns. On a terminal the last column is cut at the terminal's width.
type Table struct {
	rows   [][]string
	styles [][]Style
	right  map[int]bool
}

// NewTable returns a table with a bold header row.
func NewTable(header ...string) *Table {
	t := &Table{right: map[int]bool{}}
	t.AddRow(header...)
	for i := range header {
		t.StyleCell(i, Bold)
	}
	return t
}

// AlignRight aligns columns to the right, as for numbers.
func (t *Table) AlignRight(columns ...int) *Table {
	for _, i := range columns {
		t.right[i] = true
	}
	return t
}

// AddRow adds a row, with control characters replaced.
func (t *Table) AddRow(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = CleanLine(cell)
	}
	t.rows = append(t.rows, clean)
	t.styles = append(t.styles, make([]Style, len(cells)))
}

// StyleCell sets the style of a cell in the last row.
func (t *Table) StyleCell(column int, s Style) { t.styles[len(t.styles)-1][column] = s }

// Write writes the rows to o.
func (t *Table) Write(o *Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	limit := o.Width()
	var b strings.Builder
	for r, row := range t.rows {
		used := 0
		for i, cell := range row {
			last := i == len(row)-1
			if last && limit > 0 {
				cell = Shorten(cell, max(limit-used, 16))
			}
			padding := strings.Repeat(" ", widths[i]-min(widths[i], utf8.RuneCountInString(cell)))
			styled := o.Paint(t.styles[r][i], cell)
			switch {
			case t.right[i]:
				b.WriteString(padding + styled)
			case last:
				b.WriteString(styled)
			default:
				b.WriteString(styled + padding)
			}
			if !last {
				b.WriteString(columnGap)
			}
			used += widths[i] + len(columnGap)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(o, b.String())
	return err
}

// Shorten cuts text to a number of characters, the last of them an ellipsis.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(most-1, 0)]) + "…"
}
