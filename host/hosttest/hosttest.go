//go:build linux

// Package hosttest builds programs for tests and runs the tests with them, if needed both as root and as an
// unprivileged user, since results differ.
//
// It is for the tests of this module and must not know what they test.
package hosttest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dirVariable is the environment variable with the directory of the built programs.
const dirVariable = "PICOCLAW_TEST_PROGRAMS"

// unprivilegedID is the user and group id with which tests of root run again.
const unprivilegedID = 1000

// RunTestsWithPrograms builds programs from packages, named by their path below [Dir], runs the tests, and returns the
// exit code. Call it from TestMain. A non-nil prepare is called with the directory of the programs after the build.
func RunTestsWithPrograms(m *testing.M, programs map[string]string, prepare func(dir string) error) int {
	return runTests(m, programs, prepare, false)
}

// RunTestsAsBothUsers is like [RunTestsWithPrograms]. If root started the tests, it also runs them as an unprivileged
// user.
func RunTestsAsBothUsers(m *testing.M, programs map[string]string, prepare func(dir string) error) int {
	return runTests(m, programs, prepare, true)
}

func runTests(m *testing.M, programs map[string]string, prepare func(dir string) error, twice bool) int {
	flag.Parse()
	if os.Getenv(dirVariable) != "" {
		return m.Run() // the second run, or a child of a test
	}
	dir, err := buildAll(programs)
	if dir != "" {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err == nil && prepare != nil {
		err = prepare(dir)
	}
	if err == nil {
		err = os.Setenv(dirVariable, dir)
	}
	if err != nil {
		return failWithError(err)
	}
	if os.Getuid() != 0 || !twice || !requestsOnlyTests() {
		return m.Run()
	}
	// Run both concurrently, since the tests mostly wait.
	second, err := unprivilegedTestCommand(dir)
	if err != nil {
		return failWithError(err)
	}
	said, err := os.Create(filepath.Join(dir, "said")) // Wait would block while any process holds a pipe
	if err != nil {
		return failWithError(err)
	}
	defer func() { _ = said.Close() }()
	second.Stdout, second.Stderr = said, said
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // its end is told of when the thread ends that it was started on
		ended <- second.Run()
	}()
	code := m.Run()
	err = <-ended
	fmt.Println("=== as uid", unprivilegedID)
	_, _ = io.Copy(os.Stdout, io.NewSectionReader(said, 0, 1<<30))
	if err != nil {
		return failWithError(fmt.Errorf("as uid %d: %w", unprivilegedID, err))
	}
	return code
}

// ProgramPath returns the path of a built program.
func ProgramPath(name string) string { return filepath.Join(ProgramDir(), name) }

// ProgramDir returns the directory of the built programs.
func ProgramDir() string { return os.Getenv(dirVariable) }

func buildAll(programs map[string]string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "picoclaw-test"); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return dir, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	for name, pkg := range programs {
		if err := BuildProgram(filepath.Join(dir, name), pkg); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// requestsOnlyTests reports whether the flags request tests without fuzzing or benchmarks.
func requestsOnlyTests() bool {
	for _, name := range []string{"test.fuzz", "test.bench", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

// unprivilegedTestCommand returns a command that runs this test binary as an unprivileged user with its own home.
func unprivilegedTestCommand(dir string) (*exec.Cmd, error) {
	self := filepath.Join(dir, "again.test")
	if err := copyFile(self, "/proc/self/exe"); err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chown(home, unprivilegedID, unprivilegedID); err != nil {
		return nil, err
	}
	// Only root may have access to the package's directory.
	work := filepath.Join(dir, "package")
	if err := os.Mkdir(work, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat("testdata"); err == nil {
		if err := os.CopyFS(filepath.Join(work, "testdata"), os.DirFS("testdata")); err != nil {
			return nil, err
		}
	}
	var args []string
	for _, name := range []string{"run", "skip", "v", "short", "count", "timeout", "failfast", "parallel"} {
		if f := flag.Lookup("test." + name); f != nil && f.Value.String() != "" {
			args = append(args, "-test."+name+"="+f.Value.String())
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = work
	cmd.Env = append(withoutVariables(os.Environ(), "TMPDIR", "HOME"), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID},
		Pdeathsig:  syscall.SIGKILL,
	}
	return cmd, nil
}

func withoutVariables(env []string, names ...string) []string {
	var kept []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		drop := false
		for _, n := range names {
			drop = drop || n == name
		}
		if !drop {
			kept = append(kept, entry)
		}
	}
	return kept
}

func failWithError(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TempDir is like [testing.TB.TempDir], but returns a short path without symlinks, which sockets need.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// WaitUntil waits until so returns true, and fails the test after half a minute.
func WaitUntil(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for pause := 2 * time.Millisecond; !so(); pause = min(pause*3/2, 40*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within half a minute: %s", what)
		}
		time.Sleep(pause)
	}
}

// IsProcessAlive reports whether a process runs. A zombie does not run.
func IsProcessAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}
