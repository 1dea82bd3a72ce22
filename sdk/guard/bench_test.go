package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// BenchmarkCommand decides on the labelled lines, one at a time.
func BenchmarkCommand(b *testing.B) {
	lines := corpus(b, "everyday", "harmful", "outside")
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Cmd
	}
	measure(b, texts)
}

// BenchmarkLongCommand decides on commands of 4 KiB of several everyday shapes.
func BenchmarkLongCommand(b *testing.B) {
	for _, shape := range shapes(b) {
		b.Run(shape.Name, func(b *testing.B) { measure(b, shape.texts) })
	}
}

// BenchmarkLongCommandParsed is the part of BenchmarkLongCommand that the parser takes.
func BenchmarkLongCommandParsed(b *testing.B) {
	for _, shape := range shapes(b) {
		b.Run(shape.Name, func(b *testing.B) {
			parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
			percentiles(b, func(i int) {
				if _, err := parser.Parse(strings.NewReader(shape.texts[i%len(shape.texts)]), ""); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkHostileCommand decides on commands of the largest size that are made to take long.
func BenchmarkHostileCommand(b *testing.B) {
	for _, hostile := range []struct {
		name, part string
		dialect    Dialect
	}{
		{"directories", "cd a;", Bash}, {"words", "a ", Bash}, {"braces", "<{a,b}", Bash}, {"doubling", "a=$a$a;", Bash},
		{"finds", "a find . -exec ", POSIX},
		{"cmd-ifs", "if a ", Cmd}, {"cmd-calls", "call cmd /c ", Cmd}, {"cmd-lines", "@\"\n", Cmd},
		{"powershell-variables", "$", PowerShell}, {"powershell-here-strings", "@'\n", PowerShell},
	} {
		b.Run(hostile.name, func(b *testing.B) {
			g := mustNew(b, everything())
			command := Command{Text: strings.Repeat(hostile.part, MaxCommand/len(hostile.part)), Dialect: hostile.dialect}
			for b.Loop() {
				g.Command(command)
			}
		})
	}
}

// measure decides on the texts in turn.
func measure(b *testing.B, texts []string) {
	g := mustNew(b, everything())
	percentiles(b, func(i int) { decide(g, texts[i%len(texts)]) })
}

// percentiles tells the median of what f takes, and the time that only the slowest hundredth exceeds.
func percentiles(b *testing.B, f func(i int)) {
	times := make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		f(i)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
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
