package guard

import (
	"os"
	"path/filepath"
	"testing"
)

// A word that is only known when the command runs may be -r: to delete a directory, it has to be.
func TestAnUnknownWordMayBeAnOption(t *testing.T) {
	workspace := t.TempDir()
	if err := os.MkdirAll(filepath.Join(workspace, "build", "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(workspace, "link")); err != nil {
		t.Fatal(err)
	}
	g := mustNew(t, Policy{Workspace: workspace, Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for command, want := range map[string]Verdict{
		`rm $(cat opts) build`:              Deny,
		`rm "$(cat opts)" build/src`:        Deny,
		`rm build $(cat opts)`:              Deny,
		`cd build && rm $(cat ../opts) src`: Deny,
		`rm $(cat opts) ./`:                 Deny,
		`rm $(cat opts) *`:                  Deny,
		`rm $(cat opts) -- build`:           Deny,
		`rm ${opts[0]} build`:               Deny,
		"python3 -c 'import os\nos.system(\"rm \" + input() + \" build\")'": Deny,
		`rm $(cat list)`:                      Allow,
		`rm $(cat list) file`:                 Allow,
		`rm $(cat list) link`:                 Allow,
		`rm -- $(cat list) build`:             Allow, // which fails
		`rm build`:                            Allow, // which fails, too
		`rm $(cat list) missing *.o`:          Allow,
		`for f in *.o; do rm "$f" file; done`: Allow,
	} {
		if d := g.Command(Command{Text: command}); d.Verdict != want {
			t.Errorf("%s: %v %s %s; want %v", command, d.Verdict, d.Rule, d.Reason, want)
		}
	}
}
