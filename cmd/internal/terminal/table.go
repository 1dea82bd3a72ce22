package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// gap is between two columns.
const gap = "  "

// Table collects rows and writes them with their columns below each other. On a terminal the last column ends where the
// line does.
type Table struct {
	rows   [][]string
	styles [][]Style
	right  map[int]bool
}

// NewTable begins a table with the names of its columns.
func NewTable(header ...string) *Table {
	t := &Table{right: map[int]bool{}}
	t.Row(header...)
	for i := range header {
		t.Style(i, Bold)
	}
	return t
}

// Right aligns columns to the right, as numbers are.
func (t *Table) Right(columns ...int) *Table {
	for _, i := range columns {
		t.right[i] = true
	}
	return t
}

// Row adds a row. What a terminal would take for a command is shown, not sent.
func (t *Table) Row(cells ...string) {
	clean := make([]string, len(cells))
	for i, cell := range cells {
		clean[i] = Line(cell)
	}
	t.rows = append(t.rows, clean)
	t.styles = append(t.styles, make([]Style, len(cells)))
}

// Style styles a cell of the last row.
func (t *Table) Style(column int, s Style) { t.styles[len(t.styles)-1][column] = s }

// Write writes the table.
func (t *Table) Write(o *Out) error {
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
				b.WriteString(gap)
			}
			used += widths[i] + len(gap)
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
