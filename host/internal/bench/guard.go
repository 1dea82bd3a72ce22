package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Where the shapes of long commands are, and everyday ones with their labels, seen from the top of the repository.
var (
	longShapes    = filepath.Join("sdk", "guard", "testdata", "shapes.json")
	everydayLines = filepath.Join("sdk", "guard", "testdata", "corpus", "everyday.jsonl")
)

// guardRatio is how many times as long as the parser alone deciding on a command may take, at the median of the shapes.
const guardRatio = 3

// measureGuard measures deciding on commands of 4 KiB of several shapes beside the parser alone, in turn, and on
// everyday lines.
func measureGuard() error {
	data, err := os.ReadFile(longShapes)
	if err != nil {
		return fmt.Errorf("%w (start this at the top of the repository)", err)
	}
	var shapes []struct{ Name, Before, Part, After string }
	if err := json.Unmarshal(data, &shapes); err != nil {
		return fmt.Errorf("%s: %w", longShapes, err)
	}
	workspace, err := os.MkdirTemp("", "picoclaw-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(workspace) }()
	g, err := guard.New(guard.Policy{Workspace: workspace, Restrict: true, Kernel: true,
		Exec: guard.ExecPolicy{DenyPatterns: true}})
	if err != nil {
		return err
	}
	fmt.Printf("deciding on commands of 4 KiB, and parsing them alone (p50 at most %dx, over all shapes)\n", guardRatio)
	var allDecided, allParsed sample
	for _, shape := range shapes {
		text := shape.Before
		for i := 0; len(text)+len(shape.Part)+len(shape.After) < 4<<10; i++ {
			text += fmt.Sprintf(shape.Part, i)
		}
		decided, parsed, err := decideAndParse(g, text+shape.After)
		if err != nil {
			return fmt.Errorf("%s: %w", shape.Name, err)
		}
		fmt.Printf("  %-14s %v   %.1fx the parser's %.3f ms\n", shape.Name, decided, ratio(decided, parsed), ms(parsed.p50()))
		allDecided, allParsed = append(allDecided, decided...), append(allParsed, parsed...)
	}
	fmt.Printf("  %-14s %v   %.1fx the parser's %.3f ms\n", "all", allDecided, ratio(allDecided, allParsed),
		ms(allParsed.p50()))
	return measureEveryday(g)
}

func ratio(decided, parsed sample) float64 { return float64(decided.p50()) / float64(parsed.p50()) }

// measureEveryday measures lines that agents send all day.
func measureEveryday(g *guard.Guard) error {
	data, err := os.ReadFile(everydayLines)
	if err != nil {
		return err
	}
	var lines sample
	for line := range bytes.Lines(data) {
		var labelled struct{ Cmd string }
		if err := json.Unmarshal(line, &labelled); err != nil {
			return fmt.Errorf("%s: %w", everydayLines, err)
		}
		_ = lines.timed(func() error { g.Command(guard.Command{Text: labelled.Cmd}); return nil })
	}
	fmt.Printf("  %-14s %v\n", "everyday lines", lines)
	return nil
}

// decideAndParse decides on a command and parses it, in turn.
func decideAndParse(g *guard.Guard, text string) (decided, parsed sample, err error) {
	const rounds, warmup = 500, 50
	if d := g.Command(guard.Command{Text: text}); d.Verdict != guard.Allow {
		return nil, nil, fmt.Errorf("it is to be allowed, to be followed to its end, but is refused: %s", d.Reason)
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for i := range rounds + warmup {
		if i == warmup {
			decided, parsed = nil, nil
		}
		_ = decided.timed(func() error { g.Command(guard.Command{Text: text}); return nil })
		if err := parsed.timed(func() error { _, err := parser.Parse(strings.NewReader(text), ""); return err }); err != nil {
			return nil, nil, err
		}
	}
	return decided, parsed, nil
}
