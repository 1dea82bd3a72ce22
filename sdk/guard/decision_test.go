package guard

import (
	"strings"
	"testing"
)

// A reason shows the words that can't be known as they stand in the command.
func TestReasonShowsSourceText(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	for line, want := range map[string]string{
		`rm -rf "$tmp"`:                                `rm -rf "$tmp"`,
		`kill -9 $PID`:                                 `kill -9 $PID`,
		`env A=b rm -rf "$a" 'b c' "$d"`:               `rm -rf "$a" 'b c' "$d"`,
		`for f in *; do kill -9 "$(pgrep "$f")"; done`: `kill -9 "$(pgrep "$f")"`,
		`x=-rf; rm $x "$tmp"`:                          `rm $x "$tmp"`,
		`find . | xargs rm -rf`:                        `rm -rf`,
		`rm -rf build`:                                 `rm -rf build`,
	} {
		if d := decide(g, line); d.Verdict != Deny || !strings.HasSuffix(d.Reason, ": "+want) && !strings.Contains(d.Reason,
			": "+want+" ") {
			t.Errorf("%q: %s %q; want it to show %q", line, d.Verdict, d.Reason, want)
		}
	}
}

// What is refused in a directory for temporary files names those that a command may use.
func TestTemporaryFilesHaveAnotherPlace(t *testing.T) {
	t.Parallel()
	g := mustNew(t, everything())
	for line, want := range map[string]bool{"echo x > /tmp/x": true, "cp a /var/tmp/b": true, "cat /etc/passwd": false,
		"cat /tmpx/a": false} {
		if d := decide(g, line); d.Verdict != Deny || strings.Contains(d.Hint, "$TMPDIR") != want || strings.Contains(d.Hint,
			"mktemp") != want {
			t.Errorf("%q: %s %q; want $TMPDIR and mktemp named: %t", line, d.Verdict, d.Hint, want)
		}
	}
}

// A refusal points to what it is about, in code within code too, where that stands there once.
func TestRefusalSpanInNestedCode(t *testing.T) {
	g := mustNew(t, Policy{Workspace: t.TempDir(), Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for _, c := range []struct {
		text         string
		line, column int
		part         string
	}{
		{"nohup rm  -rf build", 1, 1, "nohup rm  -rf build"},
		{"ls\nbash <<EOF\ncd x\n  rm -rf build\nEOF", 4, 3, "rm -rf build"},
		{"ls; python3 - <<EOF\nimport subprocess\nsubprocess.run(['rm', '-rf', 'build'])\nEOF", 3, 18, "rm', '-rf', 'build"},
		{"ls; python3 - <<EOF\nx = open('/etc/passwd').read()\nEOF", 2, 11, "/etc/passwd"},
		{"ls; python3 - <<EOF\n# not /etc/passwd\nx = open('/etc/passwd').read()\nEOF", 1, 5,
			"python3 - <<EOF\n# not /etc/passwd\nx = open('/etc/passwd').read()\nEOF"},
		{"sh -c 'echo the first of some words; echo the second of some words; rm -rf build'", 1, 69, "rm -rf build"},
		{"bash <<EOF\nrm -rf \"a b\"\nEOF", 2, 1, "rm -rf \"a b\""},
		{"bash <<'EOF'\nrm -rf $'\\xff'\nEOF", 2, 1, "rm -rf $'\\xff'"},
	} {
		d := g.DecideCommand(Command{Text: c.text})
		if d.Span == nil || d.Span.Line != c.line || d.Span.Column != c.column || d.Span.Text != c.part ||
			c.text[d.Span.Start:d.Span.End] != c.part {
			t.Errorf("%q: %+v", c.text, d.Span)
		}
	}
}
