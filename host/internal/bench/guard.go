package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/internal/heap"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Where the shapes of long commands are, and everyday ones with their labels, seen from the top of the repository.
var (
	longShapes    = filepath.Join("sdk", "guard", "testdata", "shapes.json")
	everydayLines = filepath.Join("sdk", "guard", "testdata", "corpus", "everyday.jsonl")
)

// measureGuard is what deciding on commands of 4 KiB takes, and what the parser alone takes of it.
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
	for i := range 200 { // what a shape enters has to be there, to be followed
		if err := os.MkdirAll(filepath.Join(workspace, fmt.Sprintf("dir%d", i), "src"), 0o755); err != nil {
			return err
		}
	}
	g, err := guard.New(guard.Policy{Workspace: workspace, Restrict: true, Exec: guard.ExecPolicy{DenyPatterns: true}})
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(host.Headroom()) // as a server does
	fmt.Println("deciding on commands of 4 KiB (at most 1 ms at p99), and parsing them alone; garbage is collected between them, as a server does")
	for _, shape := range shapes {
		text := shape.Before
		for i := 0; len(text)+len(shape.Part)+len(shape.After) < 4<<10; i++ {
			text += fmt.Sprintf(shape.Part, i)
		}
		text += shape.After
		decided, parsed, err := decideAndParse(g, text)
		if err != nil {
			return fmt.Errorf("%s: %w", shape.Name, err)
		}
		fmt.Printf("  %-14s %v\n  %-14s %v\n", shape.Name, decided, "  the parser", parsed)
	}
	return measureEveryday(g)
}

// measureEveryday measures lines that agents send all day: each by itself, and as many different ones as there is room for in 4 KiB, below each
// other in one command, which no agent sends but which shows what the shapes above, of one kind of line each, don't.
func measureEveryday(g *guard.Guard) error {
	data, err := os.ReadFile(everydayLines)
	if err != nil {
		return err
	}
	var alone, together sample
	var tidy heap.Tidy
	decide := func(s *sample, text string) {
		_ = s.timed(func() error { g.Command(guard.Command{Text: text}); return nil })
		if tidy.Due() {
			runtime.GC()
		}
	}
	var text strings.Builder
	for line := range bytes.Lines(data) {
		var labelled struct{ Cmd string }
		if err := json.Unmarshal(line, &labelled); err != nil {
			return fmt.Errorf("%s: %w", everydayLines, err)
		}
		decide(&alone, labelled.Cmd)
		if strings.Contains(labelled.Cmd, "<<") || strings.Contains(labelled.Cmd, "#") || changesShell.MatchString(labelled.Cmd) {
			continue // what follows would be another thing than it is by itself
		}
		if text.Len()+len(labelled.Cmd) >= 4<<10 {
			if g.Command(guard.Command{Text: text.String()}).Verdict == guard.Allow { // all of it was followed
				for range 10 {
					decide(&together, text.String())
				}
			}
			text.Reset()
		}
		text.WriteString(labelled.Cmd + "\n")
	}
	fmt.Printf("  %-14s %v\n  %-14s %v\n", "everyday lines", alone, "  4 KiB of them", together)
	return nil
}

// changesShell finds commands after which a shell does other things with what follows.
var changesShell = regexp.MustCompile(`\b(?:set|shopt|exec|exit|trap|alias)\b`)

func decideAndParse(g *guard.Guard, text string) (decided, parsed sample, err error) {
	const rounds, warmup = 2000, 100
	if d := g.Command(guard.Command{Text: text}); d.Verdict != guard.Allow {
		return nil, nil, fmt.Errorf("it is to be allowed, to be followed to its end, but is refused: %s", d.Reason)
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var tidy heap.Tidy
	for i := range rounds + warmup {
		if i == warmup {
			decided, parsed = nil, nil
		}
		_ = decided.timed(func() error { g.Command(guard.Command{Text: text}); return nil })
		if tidy.Due() {
			runtime.GC()
		}
		if err := parsed.timed(func() error { _, err := parser.Parse(strings.NewReader(text), ""); return err }); err != nil {
			return nil, nil, err
		}
	}
	return decided, parsed, nil
}
