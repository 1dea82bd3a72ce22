package sdktest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// testHome is a picoclaw home for one call.
type testHome struct {
	dir       string
	workspace string
}

// newTestHome creates a home whose configuration runs the plugin from its build directory.
func newTestHome(t testing.TB, b Binary, m *pluginpb.Manifest, c *Case) *testHome {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := filepath.Abs(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	h := &testHome{dir: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "work")}
	writeFiles(t, h.workspace, c.Files)
	c.prepareWorkspace(t, h.workspace)
	if err = os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{"dev": plugin, "grants": m.Grants}
	if c.Config != nil {
		raw, encodeErr := encodeJSON(c.Config)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		settings["config"] = json.RawMessage(raw)
	}
	config, err := json.MarshalIndent(map[string]any{
		"agents":    map[string]any{"agents": []any{map[string]any{"id": "main", "workspace": h.workspace}}},
		"isolation": map[string]any{"enabled": b.Isolation},
		"plugins":   map[string]any{m.ID: settings},
		"tools":     map[string]any{"set": "all"},
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(h.dir, "config.json"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// writeFiles creates the workspace with a case's files.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, contents := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(contents), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *testHome) runCall(t testing.TB, picoclaw, tool string, arguments any) Result {
	t.Helper()
	raw, err := encodeJSON(arguments)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{"tool": tool, "args": json.RawMessage(raw)})
	if err != nil {
		t.Fatalf("the arguments %s: %v", raw, err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), picoclaw, "batch")
	cmd.Dir = h.workspace
	cmd.Env = append(withoutPicoclawVariables(os.Environ()), "PICOCLAW_HOME="+h.dir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(line), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("picoclaw: %v\n%s", err, stderr.String())
	}
	var a batchResult
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("picoclaw answered %q: %v\n%s", out, err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Logf("picoclaw said:\n%s", stderr.String())
	}
	return a.toResult()
}

// withoutPicoclawVariables removes the caller's picoclaw settings from an environment.
func withoutPicoclawVariables(environ []string) []string {
	var kept []string
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "PICOCLAW") {
			kept = append(kept, pair)
		}
	}
	return kept
}
