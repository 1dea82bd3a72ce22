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
		steps := console.Blocks(string(text))
		played += len(steps)
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			play(t, readerStage(t), steps)
		})
	}
	if played < 30 {
		t.Errorf("only %d commands were found", played)
	}
}

func play(t *testing.T, s console.Stage, steps []console.Step) {
	t.Helper()
	results, err := s.Play(t.Context(), steps)
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
}

// stage is an empty home, with picoclaw on its PATH.
func stage(t *testing.T) console.Stage {
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
	return console.Stage{Home: home, Programs: programs}
}

// readerStage is a stage on which root's tests type as uid 1000, as a reader does.
func readerStage(t *testing.T) console.Stage {
	t.Helper()
	s := stage(t)
	if os.Getuid() == 0 {
		s.User = 1000
	}
	return s
}
