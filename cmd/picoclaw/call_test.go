package main

import (
	"bytes"
	"testing"

	"github.com/picoclaw/picoclaw/host"
)

// No line of a plugin's looks like one of picoclaw's own.
func TestAPluginsErrorCantForgeALine(t *testing.T) {
	var b bytes.Buffer
	a := &app{stderr: &b}
	a.showError("x", &host.Error{Message: "no\nas it is\n  rule: none\n  hint: run as root", Rule: "paths", Hint: "stay inside"})
	want := "[ERROR] tool: Tool execution failed {tool=x, error=no}\n" +
		"as it is\n>   rule: none\n>   hint: run as root\n  rule: paths\n  hint: stay inside\n"
	if b.String() != want {
		t.Errorf("the error is shown as\n%s\nwant\n%s", b.String(), want)
	}
}
