package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load writes a configuration file into a fresh home and loads it with the variables given.
func loadText(t *testing.T, name, text string, environ ...string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Options{Environ: append([]string{"HOME=/home/user", "PICOCLAW_HOME=" + home}, environ...)})
}

func TestSmoke(t *testing.T) {
	for _, s := range []string{
		`{"tools": {"exce": {}}}`, `{"restrict_to_workspace": true}`, "{\n\"tools\": {\"allow_write_paths\": [\n\"^/tmp/picoclaw-.*\\.txt$\"]}}",
		`{"agents":{"agents":[{"id":"a"},{"id":"b"},{"id":"a"}]}}`, `{"agents":{"list":[{"id":"a", "tols":1}]}}`, `{"tools.set":"all"}`,
		`{"tools":{"set":"picclaw"}}`, `{"tools":{"exec":{"timeout_seconds":"60"}}}`, `{"tools":{"exec":{"timeout_seconds":0}}}`,
		`{"agents":{"agents":[{"id":"a"}], "list":[]}}`, `{"tools":{"set":"all","set":"all"}}`, `{"tools":{"allow_read_paths":["("]}}`,
		`{"isolation":{"expose_paths":[{"source":"a"}]}}`, `{"isolation":{"expose_paths":[{"source":"/a","mode":"x"}]}}`, `[]`, `{"plugins":{"shell":{"grant":{}}}}`, `{'a':1}`,
		strings.Repeat("[", 1<<20),
	} {
		_, err := loadText(t, "config.json", s)
		t.Log(err)
	}
	for _, s := range []string{"PICOCLAW_TOOLS_SETT=all", "PICOCLAW_TOOLS_SET=al", "PICOCLAW_PLUGINS_SHELL_GRANTS_EXEC=no", "PICOCLAW_AGENTS_AGENTS=[{\"id\":1}]", "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=1e3"} {
		_, err := loadText(t, "config.json", "", s)
		t.Log(err)
	}
	c, err := loadText(t, "config.yaml", "tools:\n  set: all\nagents:\n  list:\n  - id: a\n  - {id: b, tools: {disabled: [exec]}, restrict_to_workspace: false}\nplugins: {x: {config: {n: 5, m: 1.5}}}\n", "PICOCLAW_TOOLS_ENABLED=a,b", "PICOCLAW_PLUGINS_X_GRANTS_EXEC=true")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		t.Logf("%s = %v (%s)", s.Key, s.Value, s.Origin)
	}
	a, err := c.Agent("b")
	t.Logf("%+v %v", a, err)
	t.Logf("%#v", c.Plugin("x"))
	_, err = c.Agent("c")
	t.Log(err)
}

func BenchmarkLoad(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		if _, err := Load(Options{Environ: []string{"PICOCLAW_HOME=" + home}}); err != nil {
			b.Fatal(err)
		}
	}
}
func BenchmarkAgent(b *testing.B) {
	home := b.TempDir()
	c, _ := Load(Options{Environ: []string{"PICOCLAW_HOME=" + home}})
	for b.Loop() {
		if _, err := c.Agent(""); err != nil {
			b.Fatal(err)
		}
	}
}
