package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/docs/internal/console"
)

// What a page shows as typed into a terminal is typed, page by page in an empty home, and answered as the page says: with
// the output that it shows, or else with success.
func TestCommandsOnThePagesDoWhatThePagesSay(t *testing.T) {
	played := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps := console.Blocks(string(text))
		played += len(steps)
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			results, err := stage(t).Play(t.Context(), steps)
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range steps {
				got := results[i]
				if len(step.Want) == 0 && got.Code != 0 || len(step.Want) > 0 && !console.Matches(step.Want, got.Output) {
					t.Errorf("$ %s\nexits with %d and prints\n%s\nand not, as the page shows,\n%s",
						step.Command, got.Code, got.Output, strings.Join(step.Want, "\n"))
				}
			}
		})
	}
	if played < 30 {
		t.Errorf("only %d commands were found", played)
	}
}

// stage is an empty home, with picoclaw on its PATH.
func stage(t *testing.T) console.Stage {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return console.Stage{Home: home, Programs: programs}
}

// pages are the README and all pages beside this file.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) < 10 {
		t.Fatalf("the pages are %q: %v", found, err)
	}
	return append(found, filepath.Join("..", "README.md"))
}
