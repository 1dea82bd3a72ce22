package guard

import (
	"strings"
	"testing"
)

// A reason shows the words that can't be known as they stand in the command.
func TestReasonsShowWhatIsWritten(t *testing.T) {
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
