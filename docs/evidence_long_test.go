//go:build long

package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test that a mutation names passes, and fails once the entry's mutation is applied.
func TestMutationsAreNoticed(t *testing.T) {
	mutations, err := readMutations()
	if err != nil {
		t.Fatal(err)
	}
	root := copySources(t)
	passes := make(map[string]func() error)
	unchanged := t.TempDir()
	for _, m := range mutations {
		command := strings.Join(m.args, " ")
		if passes[command] == nil {
			passes[command] = sync.OnceValue(func() error { return runTest(root, unchanged, m.args) })
		}
	}
	for _, m := range mutations {
		t.Run(m.row+" "+m.feature, func(t *testing.T) {
			if err := passes[strings.Join(m.args, " ")](); err != nil {
				t.Fatalf("without the mutation: %v", err)
			}
			replay(t, root, m)
		})
	}
}

// replay applies a mutation, demands that its test fails, and restores the file.
func replay(t *testing.T, root string, m mutation) {
	mutated, err := m.apply(root)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, m.file)
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(mutated), 0o644); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile(file, original, 0o644); err != nil {
			t.Error(err)
		}
	}()
	if filepath.Ext(file) == ".go" {
		build := exec.Command("go", "build", "-o", os.DevNull, ".")
		build.Dir = filepath.Dir(file)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("the mutation does not compile: %v\n%s", err, out)
		}
	}
	switch err := runTest(root, t.TempDir(), m.args); {
	case err == nil:
		t.Errorf("go test %s passes although %s is broken", strings.Join(m.args, " "), m.feature)
	case !errors.Is(err, errTestFailed):
		t.Error(err)
	default:
		t.Log(err)
	}
}

var errTestFailed = errors.New("the test failed")

// runTest runs go test in the copy of the sources. The error is errTestFailed if a test ran to its end and failed.
func runTest(root, built string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-vet=off", "-timeout", "4m"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PICOCLAW_TEST_BUILT="+built)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return errors.New("go test " + strings.Join(args, " ") + " runs no test")
	case err == nil:
		return nil
	case bytes.Contains(out, []byte("\npanic: ")) || !bytes.Contains(out, []byte("--- FAIL: ")):
		return fmt.Errorf("go test %s: no test failed: %w\n%s", strings.Join(args, " "), err, out)
	}
	return fmt.Errorf("%w\n%s", errTestFailed, out)
}

// copySources copies the tracked files to a directory that other users can read, too.
func copySources(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "picoclaw-evidence")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, to := filepath.Join("..", name), filepath.Join(root, name)
		info, err := os.Lstat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not committed yet
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = copyFile(from, to, info)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func copyFile(from, to string, info os.FileInfo) error {
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
