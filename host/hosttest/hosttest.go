//go:build linux

// Package hosttest builds programs for tests and runs the tests with them, where it matters as root and as an
// unprivileged user at the same time: what holds for one of them need not hold for the other.
//
// It is for the tests of this module and knows nothing of what they test.
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

// dirVariable names the directory of the programs that were built for the tests.
const dirVariable = "PICOCLAW_TEST_PROGRAMS"

// unprivileged is the user and group id of the second run.
const unprivileged = 1000

// Main is for TestMain: it builds the programs, named by their place below the directory that [Program] looks in, from
// packages, runs the tests, and returns the exit code. prepare, which may be nil, is called with that directory after
// the programs are built.
func Main(m *testing.M, programs map[string]string, prepare func(dir string) error) int {
	return run(m, programs, prepare, false)
}

// BothUsers is like [Main], and if root started the tests it runs them as an unprivileged user too.
func BothUsers(m *testing.M, programs map[string]string, prepare func(dir string) error) int {
	return run(m, programs, prepare, true)
}

func run(m *testing.M, programs map[string]string, prepare func(dir string) error, twice bool) int {
	flag.Parse()
	if os.Getenv(dirVariable) != "" {
		return m.Run() // the second run, or a test that starts itself
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
		return complain(err)
	}
	if os.Getuid() != 0 || !twice || !plainRun() {
		return m.Run()
	}
	// Both at a time: much of such tests is waiting.
	second, err := again(dir)
	if err != nil {
		return complain(err)
	}
	said, err := os.Create(filepath.Join(dir, "said")) // a pipe would be waited for as long as anybody has it
	if err != nil {
		return complain(err)
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
	fmt.Println("=== as uid", unprivileged)
	_, _ = io.Copy(os.Stdout, io.NewSectionReader(said, 0, 1<<30))
	if err != nil {
		return complain(fmt.Errorf("as uid %d: %w", unprivileged, err))
	}
	return code
}

// Program returns the path of a program that [Main] has built.
func Program(name string) string { return filepath.Join(Dir(), name) }

// Dir returns the directory of the programs that [Main] has built.
func Dir() string { return os.Getenv(dirVariable) }

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
		if err := Build(filepath.Join(dir, name), pkg); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// plainRun reports whether this is a run of tests and nothing else.
func plainRun() bool {
	for _, name := range []string{"test.fuzz", "test.bench", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

// again is a run of this test binary as an unprivileged user, with a home of its own.
func again(dir string) (*exec.Cmd, error) {
	self := filepath.Join(dir, "again.test")
	if err := copyFile(self, "/proc/self/exe"); err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chown(home, unprivileged, unprivileged); err != nil {
		return nil, err
	}
	// The package's own directory may be where only root can go.
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
	cmd.Env = append(without(os.Environ(), "TMPDIR", "HOME"), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged},
		Pdeathsig:  syscall.SIGKILL,
	}
	return cmd, nil
}

func without(env []string, names ...string) []string {
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

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TempDir is like [testing.TB.TempDir] with its links resolved and a short path, which sockets need.
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

// Eventually waits until something is so, for at most half a minute: the machine may have much else to do.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for pause := 2 * time.Millisecond; !so(); pause = min(pause*3/2, 40*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within half a minute: %s", what)
		}
		time.Sleep(pause)
	}
}

// Alive reports whether a process runs; one that has ended and was not waited for does not.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}
