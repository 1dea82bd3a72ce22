package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/docs/internal/console"
)

// What a page shows as typed into a terminal is typed, page by page in an empty home, and answered as the page says:
// with the output that it shows, or else with success.
func TestCommandsOnThePagesDoWhatThePagesSay(t *testing.T) {
	played := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps := console.ParseTerminalSteps(string(text))
		played += len(steps)
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			checkSteps(t, newReaderShell(t), steps)
		})
	}
	if played < 30 {
		t.Errorf("only %d commands were found", played)
	}
}

// checkSteps runs the steps and compares their output with the page.
func checkSteps(t *testing.T, s console.CommandEnvironment, steps []console.Step) {
	t.Helper()
	results, err := s.RunSteps(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		got := results[i]
		if len(step.Want) == 0 && got.Code != 0 || len(step.Want) > 0 && !console.MatchesOutput(step.Want, got.Output) {
			t.Errorf("$ %s\nexits with %d and prints\n%s\nand not, as the page shows,\n%s",
				step.Command, got.Code, got.Output, strings.Join(step.Want, "\n"))
		}
	}
}

// newShell returns a shell with an empty home, and picoclaw in PATH.
func newShell(t *testing.T) console.CommandEnvironment {
	t.Helper()
	home, err := os.MkdirTemp("", "home") // t.TempDir is behind a directory that only its owner may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	return console.CommandEnvironment{Home: home, Programs: programs}
}

// newReaderShell returns a shell whose commands run as uid 1000 if root runs the tests, as a reader's do.
func newReaderShell(t *testing.T) console.CommandEnvironment {
	t.Helper()
	s := newShell(t)
	if os.Getuid() == 0 {
		s.User = 1000
	}
	return s
}
