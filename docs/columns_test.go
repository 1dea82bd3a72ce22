package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how long a line of prose may be. Tables and code can't be broken.
const columns = 120

// What people read is in lines that fit beside something else.
func TestLinesOfProseAreShort(t *testing.T) {
	for _, page := range append(pages(t), filepath.Join("..", "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "<") {
				continue
			}
			if length := utf8.RuneCountInString(line); length > columns {
				t.Errorf("%s:%d has %d columns", page, number, length)
			}
		}
	}
}
