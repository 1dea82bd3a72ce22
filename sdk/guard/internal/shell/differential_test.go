//go:build unix

package shell_test

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// run gives a line to a real shell and returns what args got.
func run(t *testing.T, dir string, program []string, line string) [][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The eval is for dash, which ends at what it doesn't know.
	prelude := "args() { { printf '%s\\0' \"$#\" \"$@\"; } >&9; }; " +
		"(eval 'export -f args') 2>/dev/null && export -f args; exec 9>calls\n"
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], prelude+line)...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=/home/u", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return calls(t, dir)
}

// matches reports whether a predicted call stands for a real one: parts that aren't known match anything.
func matches(predicted, real []string) bool {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for _, word := range predicted {
		if word == shell.Unknown || word == shell.Unset {
			b.WriteString(`(?:.*\x00)?`) // any number of words
			continue
		}
		word = strings.ReplaceAll(regexp.QuoteMeta(word), shell.Unset, "")
		b.WriteString(strings.NewReplacer(shell.Unknown, ".*", shell.Item, "[^\x00]*").Replace(word) + "\x00")
	}
	b.WriteString(`\z`)
	text := strings.Join(real, "\x00")
	if len(real) > 0 {
		text += "\x00"
	}
	return regexp.MustCompile(b.String()).MatchString(text)
}

// Every call that a real shell makes must have been predicted: what was not predicted was not judged.
func TestPredictedArgumentsAreTheRealOnes(t *testing.T) {
	shells := []struct {
		program []string
		lines   []string
	}{
		{[]string{"/bin/bash", "--noprofile", "--norc", "-c"}, slices.Concat(harmless, bashOnly, doubtful)},
		{[]string{"/bin/dash", "-c"}, harmless},
	}
	known, all := 0, 0
	for _, s := range shells {
		dir, before := workdir(t), all
		for _, line := range s.lines {
			r := &recorder{}
			shell.Interpret(line, shell.Options{Dir: dir, Env: map[string]string{"HOME": "/home/u"}}, r)
			for _, real := range run(t, dir, s.program, line) {
				if !slices.Contains(doubtful, line) {
					all++
				}
				if slices.ContainsFunc(r.calls, func(p []string) bool { return slices.Equal(p, real) }) {
					known++
				} else if !slices.ContainsFunc(r.calls, func(p []string) bool { return matches(p, real) }) {
					t.Errorf("%s: %s\n gave args %q\n predicted  %q", s.program[0], line, real, r.calls)
				}
			}
		}
		if all-before < len(harmless) {
			t.Errorf("%s: %d lines made %d calls", s.program[0], len(s.lines), all-before)
		}
	}
	if share := float64(known) / float64(all); share < 0.85 {
		t.Errorf("of %d calls only %d were predicted in full", all, known)
	}
}
