//go:build unix

package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
func TestPredictedArgumentsMatchShell(t *testing.T) {
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
			shell.Interpret(line, shell.InterpretOptions{Dir: dir, Env: map[string]string{"HOME": "/home/u"}}, r)
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

// workdir makes a directory with a directory sub and a file in.
func workdir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "in"), []byte("from in\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// calls reads what args wrote: for each call the number of its arguments, then these.
func calls(t *testing.T, dir string) [][]string {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		return nil // the shell took the line for no program at all
	}
	if err := os.Remove(filepath.Join(dir, "calls")); err != nil {
		t.Fatal(err)
	}
	items := strings.Split(string(written), "\x00")
	var out [][]string
	for i := 0; i < len(items)-1; {
		n, err := strconv.Atoi(items[i])
		if err != nil || i+1+n > len(items) {
			t.Fatalf("%q is not what args writes", written)
		}
		out = append(out, append([]string{}, items[i+1:i+1+n]...))
		i += 1 + n
	}
	return out
}
