package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The recorded session is what picoclaw does today.
func TestTheRecordedSessionIsFresh(t *testing.T) {
	drawn := filepath.Join(t.TempDir(), "session.svg")
	cmd := exec.Command("go", "run", "./internal/record", "-programs", programs, "-o", drawn)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("session.svg")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), string(want)); diff != "" {
		t.Errorf("docs/session.svg is stale: run `make docs`\n%s", diff)
	}
}
