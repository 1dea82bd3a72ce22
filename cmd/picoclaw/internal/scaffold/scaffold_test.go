package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sources(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// goTool runs the go command where a plugin was written, without a network.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath", "CGO_ENABLED=0") // flags of the build cache
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestNewPluginBuildsOffline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins", "line-count")
	p := PluginSpec{ID: "line-count", Dir: dir, SDK: SDKSource{Source: sources(t)}, Picoclaw: "picoclaw"}
	files, err := p.Create()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"main.go", "main_test.go", "README.md", "Makefile", ".gitignore", "go.mod",
		"go.sum"}; !slices.Equal(files, want) {
		t.Errorf("the files are %q, want %q", files, want)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside it is %q, %v", left, err)
	}
	goTool(t, dir, "vet", "./...")
	goTool(t, dir, "test", "-run", "TestSpec|TestCases", "./...")
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).Output(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %s %v", out, err)
	}
	// What go.mod lists is what it takes, no less and no more.
	before, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	goTool(t, dir, "mod", "tidy", "-e") // without the modules that only tests of other modules need
	after, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || string(after) != string(before) {
		t.Errorf("go mod tidy changes go.mod from\n%s\nto\n%s", before, after)
	}
}

func TestReleasedSDKIsRequiredByVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	if _, err := (PluginSpec{ID: "p", Dir: dir, Module: "github.com/me/p", SDK: SDKSource{Version: "v1.2.3"},
		Picoclaw: "picoclaw"}).Create(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(mod); !strings.Contains(text, "module github.com/me/p\n") || !strings.Contains(text,
		"require github.com/picoclaw/picoclaw v1.2.3\n") ||
		strings.Contains(text, "replace") {
		t.Errorf("go.mod is\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a go.sum, and nothing is known to be in it: %v", err)
	}
}

func TestCreateRefusesNonemptyDirectory(t *testing.T) {
	dir := t.TempDir()
	p := PluginSpec{ID: "p", Dir: dir, SDK: SDKSource{Version: "v1.2.3"}}
	if _, err := p.Create(); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	for name, at := range map[string]string{"not empty": dir, "a file": filepath.Join(dir, "main.go")} {
		p.Dir = at
		if _, err := p.Create(); err == nil || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, id := range []string{"", "Words", "../evil", "a b", "-p", strings.Repeat("a", 65)} {
		p := PluginSpec{ID: id, Dir: filepath.Join(t.TempDir(), "p"), SDK: SDKSource{Version: "v1.2.3"}}
		if _, err := p.Create(); err == nil || !strings.Contains(err.Error(), "want lower-case letters") {
			t.Errorf("%q: the error is %v", id, err)
		}
	}
	p := PluginSpec{ID: "p", Dir: filepath.Join(t.TempDir(), "p"), Module: "no module"}
	if _, err := p.Create(); err == nil || !strings.Contains(err.Error(), "--module") {
		t.Errorf("a bad module path: the error is %v", err)
	}
}

func TestReleased(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0": true, "v1.0.0-rc.1": true,
		"dev": false, "": false, "0.1.0-dev": false, "v1.2": false, "1.2.3": false, "a1b2c3d": false,
		"v1.2.3-dirty": false, "v1.2.3-14-gabc1234": false, "v1.2.3-14-gabc1234-dirty": false, "v1.2.3-dev": false,
	} {
		if got := IsReleaseVersion(version); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
}

func TestMissingSDKSources(t *testing.T) {
	if err := CheckSourceDir(sources(t)); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if err := CheckSourceDir(other); err == nil || !strings.Contains(err.Error(), other+" does not have picoclaw's sources") {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.com/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckSourceDir(other); err == nil || !strings.Contains(err.Error(), "has the module example.com/other") {
		t.Errorf("another module: %v", err)
	}
}
