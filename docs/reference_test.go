package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The reference pages follow from the program. One that does not say what the program does is stale.
func TestReferencePagesAreFresh(t *testing.T) {
	made := t.TempDir()
	cmd := exec.Command(filepath.Join(programs, "picoclaw"), "docs", made)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range []string{"configuration.md", "tools.md", "cli.md"} {
		want, err := os.ReadFile(filepath.Join(made, page))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(page)
		if err != nil {
			t.Errorf("%v: run `make docs`", err)
			continue
		}
		if diff := cmp.Diff(string(have), string(want)); diff != "" {
			t.Errorf("docs/%s is stale: run `make docs`\n%s", page, diff)
		}
	}
}
