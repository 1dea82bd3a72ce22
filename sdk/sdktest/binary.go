package sdktest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Binary is a built plugin in any programming language: a directory with plugin.json and the program, as `picoclaw
// plugin install` accepts it.
type Binary struct {
	Dir string

	// Isolation makes picoclaw start the plugin in its sandbox, which shows it only granted files. [Build] sets it.
	Isolation bool
}

// Build builds the Go plugin in a package directory, such as ".", until the end of the test. Its calls run in the
// sandbox.
func Build(t testing.TB, pkg string) Binary {
	t.Helper()
	temp := t.TempDir()
	program := filepath.Join(temp, pluginpb.PluginProgramName("program", runtime.GOOS))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // in the sandbox there are no libraries
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	manifest, err := exec.CommandContext(t.Context(), program, "describe").Output()
	if err != nil {
		t.Fatalf("the plugin can't describe itself: %v", withStderr(err))
	}
	m, err := pluginpb.ParseManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(temp, m.ID)
	err = errors.Join(
		os.Mkdir(dir, 0o755),
		os.Rename(program, filepath.Join(dir, pluginpb.PluginProgramName(m.ID, runtime.GOOS))),
		os.WriteFile(filepath.Join(dir, pluginpb.ManifestFile), manifest, 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	return Binary{Dir: dir, Isolation: true}
}

// CheckManifest checks the plugin's plugin.json like the function of the same name.
func (b Binary) CheckManifest(t testing.TB, cases ...Case) {
	t.Helper()
	m := b.readManifest(t)
	checkManifest(t, m)
	if len(cases) > 0 {
		checkCases(t, m, cases)
	}
}

func (b Binary) readManifest(t testing.TB) *pluginpb.Manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.Dir, pluginpb.ManifestFile))
	if err != nil {
		t.Fatalf("%v; build the plugin first, and have it print its manifest with `describe`", err)
	}
	m, err := pluginpb.ParseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Run makes each case's call with picoclaw, in a new home and workspace with all requested permissions. It uses the
// program in the variable PICOCLAW, or else the one in PATH.
func (b Binary) Run(t *testing.T, cases ...Case) {
	t.Helper()
	m := b.readManifest(t)
	program, err := findPicoclaw()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.caseName(), func(t *testing.T) {
			h := newTestHome(t, b, m, &c)
			c.checkResult(t, h.workspace, h.runCall(t, program, m.ID+"."+c.Tool, c.argumentValue()))
		})
	}
}

func findPicoclaw() (string, error) {
	name := cmp.Or(os.Getenv("PICOCLAW"), "picoclaw")
	program, err := exec.LookPath(name)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return "", fmt.Errorf("the built plugin is tested with picoclaw, which can't be found: %w; "+
			"put it on the PATH, or set PICOCLAW to its path", err)
	}
	return program, nil
}

// withStderr adds the standard error of a failed program to its error.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// batchResult is one line of output of `picoclaw batch`.
type batchResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Error      *sdk.Error      `json:"error"`
}

func (a *batchResult) toResult() Result {
	r := Result{Text: a.Text, Structured: a.Structured}
	if e := a.Error; e != nil {
		r.Err = &pluginpb.Error{Code: e.Code, Message: e.Message, Rule: e.Rule, Hint: e.Hint}
	}
	return r
}
