package lang

import "strings"

// generated are the commands that "go generate" starts, of a file in Go.
func generated(code string) []Effect {
	var out []Effect
	for line := range strings.Lines(code) {
		if command, ok := strings.CutPrefix(line, "//go:generate "); ok {
			out = append(out, Effect{Kind: Shell, Text: strings.TrimSpace(command)})
		}
	}
	return out
}
