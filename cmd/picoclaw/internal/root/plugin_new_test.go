package root

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// A picoclaw that make has built knows its sources. A released one names the release.
func TestNewPluginUsesSDKOfThisBuild(t *testing.T) {
	t.Setenv("PICOCLAW_HOME", t.TempDir()) // not whoever's runs the tests
	sources := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module github.com/picoclaw/picoclaw\n\ngo 1.26.0\n\nrequire example.com/used v1.0.0\n\nrequire example.com/unused v1.0.0\n",
		"go.sum": "example.com/used v1.0.0 h1:x\n", "sdk/modules.txt": "example.com/used\n",
	} {
		at := filepath.Join(sources, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, version, source string
		want                  []string
	}{
		{"from sources", "v1.2.3-4-gabcdef0", sources, []string{"example.com/used v1.0.0",
			"replace github.com/picoclaw/picoclaw => " + sources}},
		{"a release", "v1.2.3", "", []string{"require github.com/picoclaw/picoclaw v1.2.3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "p")
			var stdout, stderr bytes.Buffer
			f := &cli.Factory{Out: &stdout, Err: &stderr, Version: tt.version, Source: tt.source}
			if code := cli.RunRootCommand([]string{"plugin", "new", "p", "--dir", dir, "--output", "json"}, f, NewRootCommand); code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			var made struct{ ID, Dir string }
			if err := json.Unmarshal(stdout.Bytes(), &made); err != nil || made.ID != "p" || made.Dir != dir {
				t.Errorf("it says %s, %v", stdout.String(), err)
			}
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(mod), want) {
					t.Errorf("go.mod lacks %q:\n%s", want, mod)
				}
			}
			if strings.Contains(string(mod), "unused") {
				t.Errorf("go.mod has what the SDK does not need:\n%s", mod)
			}
		})
	}
	for why, s := range map[string]string{
		"gone does not have picoclaw's sources; name another directory with --sdk": filepath.Join(sources, "gone"),
		// it was built without make
		"does not know the sources that it was built from; name their directory with --sdk": "",
	} {
		var stdout, stderr bytes.Buffer
		f := &cli.Factory{Out: &stdout, Err: &stderr, Version: "dev", Source: s}
		code := cli.RunRootCommand([]string{"plugin", "new", "p", "--dir", filepath.Join(sources, "p")}, f, NewRootCommand)
		if code != cli.ExitFailed || !strings.Contains(stderr.String(), why) {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
		if _, err := os.Stat(filepath.Join(sources, "p")); err == nil {
			t.Error("something was written")
		}
	}
}
