package docs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// programs is the directory with picoclaw and its plugins, as users have them.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "picoclaw-docs")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		programs, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Chmod(programs, 0o755) // for another user, too
	}
	if err == nil {
		err = build()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build() error {
	for _, id := range []string{"filesystem", "grep", "shell"} {
		program := filepath.Join(programs, "plugins", id, id)
		if err := hosttest.BuildProgram(program, "../plugins/"+id); err != nil {
			return err
		}
		manifest, err := exec.Command(program, "describe").Output()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(programs, "plugins", id, "plugin.json"), manifest, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(hosttest.BuildProgram(filepath.Join(programs, "picoclaw"), "../cmd/picoclaw"),
		hosttest.BuildProgram(filepath.Join(programs, "picoclaw-hub"), "../cmd/picoclaw-hub"))
}

// pages are the README and all pages beside this file.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) < 10 {
		t.Fatalf("the pages are %q: %v", found, err)
	}
	return append(found, filepath.Join("..", "README.md"))
}
