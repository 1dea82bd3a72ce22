//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// authored is where the plugin is, below the directory of the programs, that the built picoclaw has begun.
const authored = "authored/wordcount"

// author has the built picoclaw begin a plugin, and builds that as its README says.
func author(dir string) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	at := filepath.Join(dir, filepath.FromSlash(authored))
	for _, command := range [][]string{
		{filepath.Join(dir, "bin", "picoclaw"), "plugin", "new", "wordcount", "--dir", at, "--sdk", root},
		{"make", "-C", at, "build"},
	} {
		if out, err := runOffline(command...); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return nil
}

// runOffline runs a program where nothing can be fetched, and without settings of picoclaw's.
func runOffline(command ...string) ([]byte, error) {
	cmd := exec.Command(command[0], command[1:]...)
	own := func(pair string) bool { return strings.HasPrefix(pair, "PICOCLAW") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), own), "GOPROXY=off", "GOWORK=off")
	return cmd.CombinedOutput()
}

// toolchain is what scripts build plugins with: this repository's sources, and Go with its caches.
type toolchain struct{ sdk, bin, cache, modules string }

// findToolchain returns nil in the second run, which is where neither the sources nor Go's caches can be read.
func findToolchain(t *testing.T) *toolchain {
	t.Helper()
	sdk, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(sdk, "go.mod")); err != nil {
		return nil
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	where := strings.Split(string(out), "\n")
	return &toolchain{sdk: sdk, bin: filepath.Join(where[0], "bin"), cache: where[1], modules: where[2]}
}

// give sets a script's environment.
func (c *toolchain) give(env *testscript.Env) {
	if c == nil {
		return
	}
	env.Setenv("SDK", c.sdk)
	env.Setenv("PATH", env.Getenv("PATH")+":"+c.bin)
	env.Setenv("GOCACHE", c.cache)
	env.Setenv("GOMODCACHE", c.modules)
	env.Setenv("GOPROXY", "off")
}

func authoredCases() []sdktest.Case {
	poem := map[string]string{"poem": "roses\nviolets\n"}
	return []sdktest.Case{
		{Name: "two lines", Tool: "count_lines", Files: poem, Args: map[string]any{"path": "poem"}, WantJSON: `{"lines":2}`},
		{Name: "no such file", Tool: "count_lines", Args: `{"path":"prose"}`, WantErr: sdk.NotFound},
		{Name: "outside", Tool: "count_lines", Args: `{"path":"/etc/passwd"}`, WantErr: sdk.AccessDenied},
		{Name: "no such argument", Tool: "count_lines", Args: `{"pth":"poem"}`, WantErr: sdk.InvalidArgument,
			WantContains: []string{`did you mean "path"`}},
	}
}

// The same binary, started by picoclaw, by whoever runs it and within whatever walls.
func TestANewPluginRunsInItsSandbox(t *testing.T) {
	t.Setenv("PICOCLAW", hosttest.Program("bin/picoclaw"))
	dir := hosttest.Program(authored + "/bin/wordcount")
	for name, isolated := range map[string]bool{"isolation": true, "no isolation": false} {
		t.Run(name, func(t *testing.T) {
			b := sdktest.Binary{Dir: dir, Isolation: isolated}
			b.Spec(t, authoredCases()...)
			b.Run(t, authoredCases()...)
		})
	}
}

func TestANewPluginIsOfUseByItself(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("poem", []byte("roses\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := hosttest.Program(authored + "/bin/wordcount/wordcount")
	if out, err := exec.Command(program, "call", "count_lines", `{"path":"poem"}`).Output(); err != nil ||
		string(out) != "{\"lines\":1}\n" {
		t.Errorf("call: %q %v", out, err)
	}
	described, err := exec.Command(program, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(filepath.Join(filepath.Dir(program), "plugin.json")); err != nil ||
		!bytes.Equal(written, described) {
		t.Errorf("plugin.json differs from what the program says: %v", err)
	}
	if out, err := exec.Command(program, "call", "count_line").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `did you mean "count_lines"?`) {
		t.Errorf("an unknown tool: %s %v", out, err)
	}
}

// A picoclaw that make has built knows its sources. A released one names the release.
func TestWhatANewPluginIsBuiltWith(t *testing.T) {
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
	defer func(v, s string) { version, source = v, s }(version, source)
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
			version, source = tt.version, tt.source
			dir := filepath.Join(t.TempDir(), "p")
			var stdout, stderr bytes.Buffer
			if code := run([]string{"plugin", "new", "p", "--dir", dir, "--output", "json"}, nil, &stdout,
				&stderr); code != exitOK {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			var made newPluginResult
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
		"gone does not have picoclaw's sources (any more); name another directory with --sdk": filepath.Join(sources, "gone"),
		// it was built without make
		"does not know the sources that it was built from; name their directory with --sdk": "",
	} {
		version, source = "dev", s
		var stdout, stderr bytes.Buffer
		code := run([]string{"plugin", "new", "p", "--dir", filepath.Join(sources, "p")}, nil, &stdout, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), why) {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
		if _, err := os.Stat(filepath.Join(sources, "p")); err == nil {
			t.Error("something was written")
		}
	}
}
