package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkCommands decides on commands of 4 KiB of several everyday shapes, beside the shell's parser alone, and on
// the labelled lines.
func BenchmarkCommands(b *testing.B) {
	policy := everything()
	policy.Kernel = true
	g, parser := mustNew(b, policy), syntax.NewParser(syntax.Variant(syntax.LangBash))
	var cases []measure.BenchCase
	for _, s := range shapes(b) {
		next := 0
		decided := s.texts[0]
		cases = append(cases,
			measure.BenchCase{Name: s.Name + "_decide", Run: func() error {
				decided = s.texts[next%len(s.texts)]
				next++
				decide(g, decided)
				return nil
			}},
			measure.BenchCase{Name: s.Name + "_parse", Run: func() error {
				_, err := parser.Parse(strings.NewReader(decided), "")
				return err
			}})
	}
	var decided, parsed, lines measure.RunDurations
	for i, t := range measure.RunInTurns(b, cases...) {
		if i%2 == 0 {
			decided = append(decided, t...)
		} else {
			parsed = append(parsed, t...)
		}
	}
	decided.ReportMedian(b, "long_decide-ms")
	parsed.ReportMedian(b, "long_parse-ms")
	b.ReportMetric(decided.Median()/parsed.Median(), "long_decide_to_parse-ratio<=3")
	for _, line := range corpus(b, "everyday") {
		_ = lines.TimeRun(func() error { decide(g, line.Cmd); return nil })
	}
	lines.ReportMedian(b, "everyday_line-ms")
	b.ReportMetric(lines.Quantile(0.99), "everyday_line_p99-ms")
}

// BenchmarkHostileCommand decides on commands of the largest size that are made to take long.
func BenchmarkHostileCommand(b *testing.B) {
	for _, hostile := range []struct {
		name, part string
		dialect    ShellDialect
	}{
		{"directories", "cd a;", Bash}, {"words", "a ", Bash}, {"braces", "<{a,b}", Bash}, {"doubling", "a=$a$a;", Bash},
		{"finds", "a find . -exec ", POSIX},
		{"cmd-ifs", "if a ", Cmd}, {"cmd-calls", "call cmd /c ", Cmd}, {"cmd-lines", "@\"\n", Cmd},
		{"powershell-variables", "$", PowerShell}, {"powershell-here-strings", "@'\n", PowerShell},
	} {
		b.Run(hostile.name, func(b *testing.B) {
			g := mustNew(b, everything())
			command := Command{Text: strings.Repeat(hostile.part, MaxCommandLength/len(hostile.part)), Dialect: hostile.dialect}
			for b.Loop() {
				g.DecideCommand(command)
			}
		})
	}
}

// shape is a command of any length: a part with its number, as often as there is room.
type shape struct {
	Name, Before, Part, After string
	texts                     []string // of 4 KiB
}

// shapes are the shapes in testdata, and everyday lines after one another.
func shapes(b *testing.B) []shape {
	data, err := os.ReadFile(filepath.Join("testdata", "shapes.json"))
	if err != nil {
		b.Fatal(err)
	}
	var all []shape
	if err := json.Unmarshal(data, &all); err != nil {
		b.Fatal(err)
	}
	for i, s := range all {
		all[i].texts = []string{s.long()}
	}
	return append(all, shape{Name: "lines", texts: everydayTexts(b)})
}

// long is one command of the shape, of 4 KiB.
func (s shape) long() string {
	text := s.Before
	for i := 0; ; i++ {
		next := fmt.Sprintf(s.Part, i)
		if len(text)+len(next)+len(s.After) > 4<<10 {
			return text + s.After
		}
		text += next
	}
}

// everydayTexts are everyday lines after one another, each in a shell of its own.
func everydayTexts(b *testing.B) []string {
	var texts []string
	var text strings.Builder
	for _, l := range corpus(b, "everyday") {
		if strings.Contains(l.Cmd, "<<") || strings.Contains(l.Cmd, "set -") {
			continue
		}
		if text.Len()+len(l.Cmd) > 4<<10 {
			texts = append(texts, text.String())
			text.Reset()
		}
		text.WriteString("( " + l.Cmd + "\n)\n")
	}
	return texts
}
