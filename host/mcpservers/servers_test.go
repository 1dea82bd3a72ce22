package mcpservers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Variables of clients are what they mean here, or why a server can't be had; one that is switched off stays so.
func TestImportClientVariables(t *testing.T) {
	found, wrong, err := ParseClientConfig([]byte(`{"inputs": [{"id": "key"}], "servers": {
		"root": {"command": "a", "args": ["${workspaceFolder}/x", "${workspaceRoot}", "$HOME"], "env": {"AT": "${workspaceFolder}"}},
		"env": {"command": "a", "env": {"KEY": "${env:KEY}"}},
		"input": {"command": "a", "args": ["--key=${input:key}"]},
		"header": {"url": "https://example.com", "headers": {"Authorization": "Bearer ${input:key}"}},
		"url": {"url": "https://example.com/${input:key}"},
		"plain": {"command": "a", "env": {"KEY": "${KEY}"}},
		"off": {"command": "a", "disabled": true, "env": {"KEY": "${env:KEY}"}},
		"on": {"command": "a", "disabled": false},
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]ServerSpec{
		"root": {Command: []string{"a", "{{workspace}}/x", "{{workspace}}", "$HOME"}, Env: map[string]string{"AT": "{{workspace}}"}},
		"on":   {Command: []string{"a"}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	for name, variable := range map[string]string{
		"env": "${env:KEY}", "input": "${input:key}", "header": "${input:key}", "url": "${input:key}", "plain": "${KEY}",
	} {
		if err := wrong[name]; err == nil || !strings.HasPrefix(err.Error(), "the client's variable "+variable) {
			t.Errorf("%s: %v", name, err)
		}
		delete(wrong, name)
	}
	if len(wrong) > 0 {
		t.Error(wrong)
	}
	if found, _, err = ParseClientConfig([]byte("\ufeff" + `{"servers": {"on": {"command": "a"}}}`)); err != nil || len(found) != 1 {
		t.Errorf("a file with a byte order mark: %v, %v", found, err)
	}
	if _, _, err := ParseClientConfig([]byte(`{"servers": {"off": {"command": "a", "disabled": true}}}`)); err == nil {
		t.Error("a file with nothing that is switched on is read")
	}
}

func TestNpmPackageMayBeginWithByteOrderMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "node_modules", "server", "package.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("\ufeff"+`{"version": "1.2.3", "bin": "main.js"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	command, version, err := (&packageSource{name: "server"}).npmStartCommand(root)
	if err != nil || version != "1.2.3" || len(command) != 2 || command[1] != "{{data}}/node_modules/server/main.js" {
		t.Errorf("%q, %q, %v", command, version, err)
	}
}
