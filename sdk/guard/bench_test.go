package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
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
	for _, shape := range []struct {
		name  string
		texts []string
	}{
		{"lines", everydayTexts(b)},
		{"pipeline", repeated("cat access.log", " | grep -v 'GET /health%d'", "")},
		{"words", repeated("echo", " word%d", "")},
		{"files", repeated("git add", " src/pkg%d/file_test.go", "")},
		{"cd", repeated("", "cd dir%d && ls src; cd ..; ", "")},
		{"assignments", repeated("", "NAME_%d=\"value $HOME of %[1]d\"\n", "echo $NAME_1")},
		{"substitutions", repeated("echo", " \"$(basename \"$(pwd)\" .%d)\"", "")},
		{"document", repeated("cat > notes.md <<'EOF'\n", "- line %d of some notes with $dollars and `ticks`\n", "EOF\n")},
		{"conditions", repeated("", "if [ -f file%d ]; then echo \"there\"; else touch file%[1]d; fi\n", "")},
		{"and", repeated("true", " && go vet ./pkg%d", "")},
		{"loop", repeated("for f in", " src/%d.c", "; do gcc -c \"$f\"; done")},
	} {
		b.Run(shape.name, func(b *testing.B) { measure(b, shape.texts) })
	}
}

// BenchmarkHostileCommand decides on commands of the largest size that are made to take long.
func BenchmarkHostileCommand(b *testing.B) {
	for _, hostile := range []struct {
		name, part string
		dialect    Dialect
	}{
		{"directories", "cd a;", Bash}, {"words", "a ", Bash}, {"braces", "<{a,b}", Bash}, {"doubling", "a=$a$a;", Bash}, {"finds", "a find . -exec ", POSIX},
		{"cmd-ifs", "if a ", Cmd}, {"cmd-calls", "call cmd /c ", Cmd}, {"cmd-lines", "@\"\n", Cmd}, {"powershell-variables", "$", PowerShell}, {"powershell-here-strings", "@'\n", PowerShell},
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

// measure decides on the texts in turn and tells the median and the time that only the slowest hundredth exceeds.
func measure(b *testing.B, texts []string) {
	g := mustNew(b, everything())
	times := make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		decide(g, texts[i%len(texts)])
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}

// repeated is one command of 4 KiB: a part, with numbers for its %d, as often as there is room.
func repeated(before, part, after string) []string {
	text := []byte(before)
	for i := 0; ; i++ {
		next := fmt.Sprintf(part, i)
		if len(text)+len(next)+len(after) > 4<<10 {
			return []string{string(text) + after}
		}
		text = append(text, next...)
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
