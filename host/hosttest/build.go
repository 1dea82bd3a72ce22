package hosttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builtVariable names a directory in which programs that were built stay for other packages' tests: linking them takes
// longer than most tests do.
const builtVariable = "PICOCLAW_TEST_BUILT"

// Build builds a program from the sources of a package, as `make build` does.
func Build(program, pkg string) error {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Module.Dir}}", pkg).Output()
	path, root, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || root == "" {
		return fmt.Errorf("find package %s: %w", pkg, err)
	}
	built, kept := program, os.Getenv(builtVariable)
	if kept != "" {
		built = filepath.Join(kept, strings.ReplaceAll(path, "/", "_"))
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", `-s -w -X "main.source=`+root+`"`, "-o", built, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	if kept == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	return copyFile(program, built)
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

// Describe has plugins in directories below dir, each a program of its directory's name, write their manifests there.
func Describe(dir string, plugins ...string) error {
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
