package isolation

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// childEnv names the static program that plays the child in a sandbox.
const childEnv = "PICOCLAW_TEST_CHILD"

// TestMain runs the tests as the user who starts them and, if that is root,
// once more as an unprivileged user.
func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if dir := os.Getenv(hostEnv); dir != "" {
		return playHost(dir)
	}
	if which := os.Getenv(filteredEnv); which != "" {
		return playFiltered(which)
	}
	if os.Getenv(childEnv) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "picoclaw-isolation")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return fail(err)
	}
	child := filepath.Join(dir, "child")
	build := exec.Command("go", "build", "-o", child, "./testdata/child")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("build the child: %w\n%s", err, out))
	}
	os.Setenv(childEnv, child)
	if code := m.Run(); code != 0 || os.Getuid() != 0 || !plainRun() {
		return code
	}
	return asUnprivileged(dir)
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

func asUnprivileged(dir string) int {
	const uid = 1000
	self := filepath.Join(dir, "isolation.test")
	if err := copyFile("/proc/self/exe", self); err != nil {
		return fail(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return fail(err)
	}
	if err := os.Chown(home, uid, uid); err != nil {
		return fail(err)
	}
	var args []string
	for _, name := range []string{"run", "skip", "v", "short", "count", "timeout", "failfast", "parallel"} {
		if f := flag.Lookup("test." + name); f != nil && f.Value.String() != "" {
			args = append(args, "-test."+name+"="+f.Value.String())
		}
	}
	fmt.Println("=== again as uid", uid)
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(without(os.Environ(), "TMPDIR", "HOME"), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fail(fmt.Errorf("as uid %d: %w", uid, err))
	}
	return 0
}

func without(env []string, names ...string) []string {
	var kept []string
	for _, entry := range env {
		drop := false
		for _, name := range names {
			drop = drop || strings.HasPrefix(entry, name+"=")
		}
		if !drop {
			kept = append(kept, entry)
		}
	}
	return kept
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
