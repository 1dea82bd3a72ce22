package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// dcShell is a command in a program of dc. Behind a comparison's sign, it is none.
	dcShell = pattern.New(`!([^<>=\n][^\n]*)`)
	// plotShell is a command where a statement of gnuplot begins, or that a file is read from.
	plotShell = pattern.New(`(?m)(?:^|;)\s*(?:!|shell\s)\s*([^\n]+)`)
	plotPipe  = pattern.New(`^\s*[<|]\s*(.+)$`)
)

// Dc says which commands a program of dc starts.
func Dc(code string) (out []Effect) {
	for _, m := range dcShell.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	return out
}

// Gnuplot says what commands of gnuplot do: they can start others, and read what those print as if it were a file.
func Gnuplot(code string) (out []Effect) {
	for _, m := range plotShell.FindAllStringSubmatch(code) {
		out = append(out, Effect{Kind: Shell, Text: m[1]})
	}
	for _, l := range strip("gnuplot", code).literals {
		if m := plotPipe.FindStringSubmatch(l.text); m != nil {
			out = append(out, Effect{Kind: Shell, Text: m[1]})
		}
	}
	return append(out, Script("gnuplot", code)...)
}

// Pdb says what commands of Python's debugger do: statements of Python, perhaps behind a "!".
func Pdb(code string) []Effect {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimSpace(line), "!")
	}
	return Script("python", strings.Join(lines, "\n"))
}
