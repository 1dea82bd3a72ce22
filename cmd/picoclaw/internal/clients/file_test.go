package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that are not plainly a person's to change are left alone, with the reason and the cure.
func TestPlanRefusesUnsafeFiles(t *testing.T) {
	client := AllClients()[0] // what it keeps in its file is the same to all
	for name, c := range map[string]struct {
		prepare func(path string) error
		want    []string
	}{
		"a link to nothing": {
			func(path string) error { return os.Symlink("gone.json", path) },
			[]string{"is a symlink to gone.json, which does not exist; create that file, or remove the symlink"},
		},
		"read-only": {
			func(path string) error { return os.WriteFile(path, []byte("{}"), 0o444) },
			[]string{"is read-only", "run `chmod u+w` on it, or paste the entry by hand"},
		},
		"a directory": {func(path string) error { return os.Mkdir(path, 0o700) }, []string{"is not a file"}},
		"half": {
			func(path string) error { return os.WriteFile(path, []byte(`{"mcpServers": {"a": 1}`), 0o600) },
			[]string{"the file is not JSON: line ", "it is not changed; paste the entry by hand"},
		},
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := c.prepare(path); err != nil {
			t.Fatal(err)
		}
		_, err := client.PlanServerEntry(UserEnvironment{}, path, ServerEntry{Name: "picoclaw", Command: "picoclaw"})
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hujson") {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
}
