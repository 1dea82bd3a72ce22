//go:build unix

// Command record runs a short terminal session with the built picoclaw, and draws it as an SVG. The same picoclaw gives
// the same picture: the home is written as ~, and no command prints a time.
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

// session is the text of the terminal session.
//
//go:embed session.txt
var session string

func main() {
	programs := flag.String("programs", "bin", "the `directory` with picoclaw and its plugins")
	output := flag.String("o", "docs/session.svg", "the `file` to draw into")
	flag.Parse()
	if err := recordSession(*programs, *output); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// recordSession runs the session with the programs in a directory, and writes the SVG to output.
func recordSession(programs, output string) error {
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
	steps := console.ParseSession(session)
	results, err := console.CommandEnvironment{Home: home, Programs: programs}.RunSteps(ctx, steps)
	if err != nil {
		return err
	}
	var lines []styledLine
	for i, step := range steps {
		lines = append(lines, commandLines(step.Command)...)
		lines = append(lines, outputLines(results[i].Output)...)
	}
	return os.WriteFile(output, []byte(drawSVG(lines)), 0o644)
}
