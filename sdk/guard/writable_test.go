package guard

import (
	"os"
	"path/filepath"
	"testing"
)

// What can't be opened for writing keeps its whole statement from being done: variables stay as they were.
func TestWhatCannotBeWrittenKeepsAStatementFromBeingDone(t *testing.T) {
	workspace := t.TempDir()
	if err := os.Mkdir(filepath.Join(workspace, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g := mustNew(t, Policy{Workspace: workspace, Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for line, want := range map[string]Verdict{
		"o=-r; { o=-i; } >build; rm $o src":                 Deny,
		"o=-r; { o=-i; } >>build; rm $o src":                Deny,
		"o=-r; { o=-i; } 2>build; rm $o src":                Deny,
		"o=-r; { o=-i; } >./build/; rm $o src":              Deny,
		"o=-r; { o=-i; } >nowhere/log; rm $o src":           Deny,
		"o=-r; { o=-i; } >log/x; rm $o src":                 Deny,
		"o=-r; o=-i >build; rm $o src":                      Deny,
		"o=-r; export o=-i >build; rm $o src":               Deny,
		"o=-r; f() { o=-i; }; f >build; rm $o src":          Deny,
		"o=-r; for o in -i; do :; done >build; rm $o x":     Deny,
		"o=-r; { o=-i; } >\"$(cat name)\"; rm $o src":       Deny,
		"o=-r; { o=-i; } >log; rm $o src":                   Allow,
		"o=-r; { o=-i; } >new; rm $o src":                   Allow,
		"o=-r; { o=-i; } >build/log; rm $o src":             Allow,
		"mkdir -p out; o=-r; { o=-i; } >out/log; rm $o src": Allow,
	} {
		if d := decide(g, line); d.Verdict != want {
			t.Errorf("%s: %s by %s; want %s", line, d.Verdict, d.Rule, want)
		}
	}
}
