package sdktest

import (
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

// Binary is a built plugin, in whatever language it is written: a directory with its plugin.json and its program, as
// `picoclaw plugin install` takes it.
type Binary struct {
	Dir string

	// Isolation says that picoclaw starts the plugin in its sandbox, where it sees what it is granted and nothing else;
	// set by [Build]. Without it, only what needs nothing installed confines the plugin.
	Isolation bool
}

// Build builds the Go plugin in a package's directory, such as ".", for the time of the test. Its calls are made in the
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

// Spec is like the function [Spec], for what is in the plugin.json.
func (b Binary) Spec(t testing.TB, cases ...Case) {
	t.Helper()
	m := b.readManifest(t)
	checkManifest(t, m)
	if len(cases) > 0 {
		checkExamples(t, m, cases)
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

// Run has picoclaw make each case's call, with a home and a workspace of its own and with all that the plugin asks for
// granted. It needs picoclaw: the program that the variable PICOCLAW names, or else the one on the PATH.
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
	name := os.Getenv("PICOCLAW")
	if name == "" {
		name = "picoclaw"
	}
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

// withStderr adds a failed program's output to its error.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// batchAnswer is a line of `picoclaw batch`.
type batchAnswer struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Error      *sdk.Error      `json:"error"`
}

func (a *batchAnswer) toResult() Result {
	r := Result{Text: a.Text, Structured: a.Structured}
	if e := a.Error; e != nil {
		r.Err = &pluginpb.Error{Code: e.Code, Message: e.Message, Rule: e.Rule, Hint: e.Hint}
	}
	return r
}
