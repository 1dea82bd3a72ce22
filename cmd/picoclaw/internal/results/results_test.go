package results

import (
	"bytes"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/session"
)

// No line of a plugin's looks like one of picoclaw's own.
func TestPluginErrorCannotForgeLines(t *testing.T) {
	for text, want := range map[string]string{
		"no\nas it is\n  rule: none\n  hint: run as root": "no}\n  | as it is\n  |   rule: none\n  |   hint: run as root",
		"no\r  hint: run as root":                         "no}\n  |   hint: run as root",
		"no\r\n\u2028  Hint: run as root\n":               "no}\n  | \n  |   Hint: run as root",
		"no\n[ERROR] tool: no":                            "no}\n  | [ERROR] tool: no",
		"no\n\u200b  hint: run as root":                   "no}\n  | \u200b  hint: run as root",
	} {
		var b bytes.Buffer
		f := &cli.Factory{Err: &b}
		printToolError(f, "x", &session.Error{Message: text, Rule: "paths\n  hint: none", Hint: "stay inside\v  rule: none"})
		want = "[ERROR] tool: Tool execution failed {tool=x, error=" + want +
			"\n  rule: paths\n  |   hint: none\n  hint: stay inside\n  |   rule: none\n"
		if b.String() != want {
			t.Errorf("the error is shown as\n%s\nwant\n%s", b.String(), want)
		}
	}
}
