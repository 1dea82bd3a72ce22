package rules

import (
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// finds says whether a rule with the id refuses a line of plain words, with find's and xargs' commands unwrapped.
func finds(id, line string) bool {
	words := strings.Fields(line)
	var via []string
	for {
		name := programs.Canonical(shell.Name(words[0]))
		for _, r := range Find(New(name, words[1:], via)) {
			if r.ID == id {
				return true
			}
		}
		inner := []string(nil)
		for _, use := range programs.Uses(new(programs.Memory), name, fields(words[1:]), words[1:]) {
			if use.Kind == programs.Command {
				inner = shell.Texts(use.Argv)
			}
		}
		if inner == nil {
			return false
		}
		via, words = append(via, name), inner
	}
}

func fields(words []string) []shell.Field {
	out := make([]shell.Field, len(words))
	for i, w := range words {
		out[i] = shell.Field{Text: w}
	}
	return out
}

func TestExamples(t *testing.T) {
	for _, r := range All {
		if len(r.Hit) == 0 || len(r.Miss) == 0 || r.Reason == "" {
			t.Errorf("%s: a rule needs a reason and examples that it matches and doesn't", r.ID)
		}
		for _, line := range r.Hit {
			if !finds(r.ID, line) {
				t.Errorf("%s doesn't match %q", r.ID, line)
			}
		}
		for _, line := range r.Miss {
			if finds(r.ID, line) {
				t.Errorf("%s matches %q", r.ID, line)
			}
		}
	}
}

// What only tells what it would do is no publishing and no deleting; what only looks so is.
func TestDryRuns(t *testing.T) {
	for line, want := range map[string]bool{
		"npm publish --dry-run":                              true,
		"npm publish --tag next --dry-run":                   true,
		"npm publish --dry-run=true":                         true,
		"npm publish --help":                                 true,
		"npm publish --dry-run=false":                        false,
		"npm publish --dry-run false":                        false,
		"npm publish --dry-run --no-dry-run":                 false,
		"cargo publish --locked --dry-run":                   true,
		"kubectl delete ns x --dry-run=client":               true,
		"kubectl delete ns x --force --dry-run=client":       true,
		"kubectl delete ns x --dry-run=none":                 false,
		"kubectl delete ns x --cache-dir --dry-run=client":   false,
		"kubectl get secret x -o yaml --cache-dir --help":    false,
		"kubectl get secret x -o yaml --help":                true,
		"docker push --help":                                 true,
		"docker --config --help push x":                      false,
		"docker compose -f a.yml --dry-run push":             true,
		"terraform destroy -help":                            true,
		"gh auth token --hostname --help":                    false,
		"vault kv get -address=http://localhost:8200 --help": true,
	} {
		words := strings.Fields(line)
		if got := New(words[0], words[1:], nil).dryRun(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
