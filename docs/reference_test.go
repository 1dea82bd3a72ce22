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
	dir := t.TempDir()
	build := func(program, pkg string) string {
		t.Helper()
		at := filepath.Join(dir, "bin", program)
		if out, err := exec.Command("go", "build", "-o", at, pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
		return at
	}
	for _, id := range []string{"filesystem", "grep", "shell"} {
		manifest, err := exec.Command(build(filepath.Join("plugins", id, id), "../plugins/"+id), "describe").Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", "plugins", id, "plugin.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := filepath.Join(dir, "docs")
	if err := os.Mkdir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(build("picoclaw", "../cmd/picoclaw"), "docs", made)
	cmd.Env = []string{"HOME=" + dir}
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
