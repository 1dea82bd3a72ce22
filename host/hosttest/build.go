package hosttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// builtVariable is the environment variable with a directory that caches built programs. All packages of one test run
// share it, so each program is built once. Empty the directory after changes of the code.
const builtVariable = "PICOCLAW_TEST_BUILT"

// raceVariable is the environment variable that makes picoclaw and picoclaw-hub be built with the race detector. A
// program with a data race then exits with status 66. Plugins are built without it, since tests don't see their
// output.
const raceVariable = "PICOCLAW_TEST_RACE"

// BuildProgram builds a program from a package, as `make build` does.
func BuildProgram(program, pkg string) error {
	kept := os.Getenv(builtVariable)
	if kept == "" {
		return runBuild(program, pkg)
	}
	path := pkg
	if strings.HasPrefix(pkg, ".") {
		out, err := exec.Command("go", "list", pkg).Output()
		if err != nil {
			return fmt.Errorf("find package %s: %w", pkg, err)
		}
		path = strings.TrimSpace(string(out))
	}
	built := filepath.Join(kept, strings.ReplaceAll(path, "/", "_"))
	if wantsRaceDetector(path) {
		built += "_race"
	}
	if err := buildOnce(built, pkg); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	return copyFile(program, built)
}

// buildOnce builds a program unless it exists. Concurrent callers wait for the first.
func buildOnce(program, pkg string) error {
	lock, err := filelock.OpenLocked(program+".lock", filelock.LockWaiting)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	if err := runBuild(program+".new", pkg); err != nil {
		return err
	}
	return os.Rename(program+".new", program)
}

// wantsRaceDetector reports whether a package's program is built with the race detector.
func wantsRaceDetector(pkg string) bool {
	return os.Getenv(raceVariable) != "" && strings.Contains(pkg, "/cmd/picoclaw")
}

func runBuild(program, pkg string) error {
	out, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", pkg).Output()
	if err != nil {
		return fmt.Errorf("find package %s: %w", pkg, err)
	}
	flags := `-s -w -X "main.source=` + strings.TrimSpace(string(out)) + `"`
	args, cgo := []string{"build", "-trimpath"}, "CGO_ENABLED=0"
	if wantsRaceDetector(pkg) {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "-ldflags", flags, "-o", program, pkg)...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// WriteManifests runs each plugin in a subdirectory of dir, and writes its manifest there. The subdirectories and
// binaries are named like the plugins.
func WriteManifests(dir string, plugins ...string) error {
	for _, plugin := range plugins {
		at := filepath.Join(dir, plugin)
		out, err := exec.Command(filepath.Join(at, filepath.Base(at)), "describe").Output()
		if err != nil {
			return fmt.Errorf("describe plugin %s: %w", plugin, err)
		}
		if err := os.WriteFile(filepath.Join(at, "plugin.json"), out, 0o644); err != nil {
			return err
		}
	}
	return nil
}
