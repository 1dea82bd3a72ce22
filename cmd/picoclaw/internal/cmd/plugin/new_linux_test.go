package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// authored is where the plugin is, below the directory of the programs, that the built picoclaw has begun.
const authored = "authored/wordcount"

// author has the built picoclaw begin a plugin, and builds that as its README says.
func author(dir string) error {
	root, err := clitest.ModuleRoot()
	if err != nil {
		return err
	}
	at, picoclaw := filepath.Join(dir, filepath.FromSlash(authored)), filepath.Join(dir, "bin", "picoclaw")
	if err := os.Setenv("PICOCLAW", picoclaw); err != nil { // sdktest.Binary starts plugins with it
		return err
	}
	for _, command := range [][]string{
		{picoclaw, "plugin", "new", "wordcount", "--dir", at, "--sdk", root},
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
func TestNewPluginRunsInSandbox(t *testing.T) {
	t.Parallel()
	dir := hosttest.ProgramPath(authored + "/bin/wordcount")
	for name, isolated := range map[string]bool{"isolation": true, "no isolation": false} {
		t.Run(name, func(t *testing.T) {
			b := sdktest.Binary{Dir: dir, Isolation: isolated}
			b.CheckManifest(t, authoredCases()...)
			b.Run(t, authoredCases()...)
		})
	}
}

func TestNewPluginWorksUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "poem"), []byte("roses\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := hosttest.ProgramPath(authored + "/bin/wordcount/wordcount")
	call := exec.Command(program, "call", "count_lines", `{"path":"poem"}`)
	call.Dir = dir
	if out, err := call.Output(); err != nil ||
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
