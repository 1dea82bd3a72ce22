//go:build unix

// Command record plays a short session with the picoclaw that was built and draws it, as a terminal would show it, as
// an SVG. The same picoclaw makes the same picture: the home is written as ~, and nothing that is played prints a time.
//
//	record -programs bin -o docs/session.svg
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/picoclaw/picoclaw/docs/internal/console"
)

// session is what is typed.
//
//go:embed session.txt
var session string

func main() {
	programs := flag.String("programs", "bin", "the `directory` with picoclaw and its plugins")
	output := flag.String("o", "docs/session.svg", "the `file` to draw into")
	flag.Parse()
	if err := record(*programs, *output); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(programs, output string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	programs, err := filepath.Abs(programs)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "session")
	if err == nil {
		defer func() { _ = os.RemoveAll(home) }()
		home, err = filepath.EvalSymlinks(home)
	}
	if err != nil {
		return err
	}
	steps := console.Parse(session)
	results, err := console.Stage{Home: home, Programs: programs}.Play(ctx, steps)
	if err != nil {
		return err
	}
	var lines []line
	for i, step := range steps {
		lines = append(lines, typed(step.Command)...)
		lines = append(lines, printed(results[i].Output)...)
	}
	return os.WriteFile(output, []byte(draw(lines)), 0o644)
}
