package guard

import (
	"os"
	"testing"
)

// To enter a directory that doesn't exist fails, and what follows runs where the command was before.
func TestADirectoryThatDoesNotExist(t *testing.T) {
	ws, _ := workspace(t)
	if err := os.Mkdir(ws+"/there", 0o755); err != nil {
		t.Fatal(err)
	}
	g := mustNew(t, Policy{Workspace: ws, Restrict: true, Exec: ExecPolicy{DenyPatterns: true}})
	for line, want := range map[string]Verdict{
		"cd there; cat ../x": Allow, "cd nope; cat ../x": Deny, "cd nope\ncat ../x": Deny, "cd nope && cat ../x": Allow, "cd nope || exit; cat ../x": Allow, "cd nope || true; cat ../x": Deny,
		"cd nope; cd ..; ls": Deny, "cd nope; cd there; cat ../x": Allow, "cd nope; echo x > ../y": Deny, "cd nope; cat x": Allow, "cd nope; (cat ../x)": Deny, "cd nope; cat ../x | wc": Deny,
		"mkdir nope; cd nope; cat ../x": Allow, "git clone https://example.com/a/nope; cd nope; ls ..": Allow, "set -e; cd nope; cat ../x": Allow, "set -euo pipefail\ncd nope\ncat ../x": Allow, "pushd nope; cat ../x": Deny,
		"cd nope && ls; cat ../x": Deny, "cd nope; make; cd ..": Allow, "cd nope; cd ..; echo done": Allow, "cd nope && make; cd ..": Allow, "cd nope; cd ..; make": Deny, "cd nope; cd ..; echo *": Deny, "d=nope; cd $d; cat ../x": Deny, "echo nope; cd nope; cat ../x": Deny, "D=nope; mkdir $D; cd $D; ls ..": Allow,
		"bash -c 'cd nope; cat ../x'": Deny, "if ! cd nope; then cat ../x; fi": Deny, "make && cd nope && ls ..": Allow, "cd nope; true && ls ..": Deny, "for d in a nope; do mkdir -p $d; cd $d; touch x; cd ..; done": Allow, "if cd nope; then cat ../x; fi": Allow, "! cd nope && cat ../x": Deny, "cd there/nope; cat ../../x": Deny, "cd nope; cd /; ls": Deny,
		"touch f; cd f; cat ../x": Deny, "mkdir nope; rmdir nope; cd nope; cat ../x": Deny, "mkdir nope; rm -d nope; cd nope; cat ../x": Deny, "mkdir nope; mv nope b; cd nope; cat ../x": Deny,
		"mkdir nope; cd nope; mkdir b; rmdir b; cd b; cd ..; cat ../x": Deny, "rmdir nope; mkdir nope; cd nope; ls ..": Allow, "mv a nope; cd nope; ls ..": Allow, "mkdir nope; rm nope/x; cd nope; ls ..": Allow,
		"cd there b; cat ../x": Deny, "cd -Z there; cat ../x": Deny, "cd -P there; ls ..": Allow, "cd -- there; ls ..": Allow, "cd there < nope; cat ../x": Deny, "cd there < /dev/null; ls ..": Allow,
	} {
		if d := g.Command(Command{Text: line}); d.Verdict != want {
			t.Errorf("%q: %s %s; want %s", line, d.Verdict, d.Reason, want)
		}
	}
}
