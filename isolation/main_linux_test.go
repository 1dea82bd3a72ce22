package isolation

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// childEnv names the static program that plays the child in a sandbox.
const childEnv = "PICOCLAW_TEST_CHILD"

// TestMain runs the tests as the user who starts them and, if that is root, at the same time as an unprivileged user.
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
	if os.Getuid() != 0 || !plainRun() {
		return m.Run()
	}
	return asBothUsers(dir)
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

// asBothUsers runs the tests as root and as uid 1000, each in shards, all at the same time. Shards are processes, since
// much that the tests look at is the process's: its brand, its orphans, its environment. None is another's ancestor.
func asBothUsers(dir string) int {
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
	shards, err := shardPatterns(self)
	if err != nil {
		return fail(err)
	}
	var args []string
	for _, name := range []string{"run", "skip", "v", "short", "count", "timeout", "failfast", "parallel"} {
		if f := flag.Lookup("test." + name); f != nil && f.Value.String() != "" {
			args = append(args, "-test."+name+"="+f.Value.String())
		}
	}
	runtime.LockOSThread() // Pdeathsig is sent when the thread that started a process ends
	var started []*exec.Cmd
	start := func(user string, args []string, pattern string, env []string, as *syscall.Credential) error {
		if pattern != "" {
			args = append(slices.Clone(args), "-test.run="+pattern)
		}
		cmd, output := exec.Command(self, args...), &bytes.Buffer{}
		fmt.Fprintln(output, "=== as", user)
		cmd.Stdout, cmd.Stderr, cmd.Env = output, output, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
		started = append(started, cmd)
		return cmd.Start()
	}
	home1000 := append(without(os.Environ(), "TMPDIR", "HOME"), "TMPDIR="+home, "HOME="+home)
	for n, pattern := range shards {
		rootArgs := args
		if n == 0 {
			rootArgs = os.Args[1:] // with the file in which `go test` notes what its cache depends on
		}
		if err := errors.Join(start("root", rootArgs, pattern, nil, nil),
			start("uid 1000", args, pattern, home1000, &syscall.Credential{Uid: uid, Gid: uid})); err != nil {
			return fail(err)
		}
	}
	code := 0
	for _, cmd := range started {
		err := cmd.Wait()
		fmt.Print(cmd.Stdout)
		if err != nil {
			code = fail(err)
		}
	}
	return code
}

// shardPatterns returns a pattern for -run for each shard; one empty pattern if flags select tests already.
func shardPatterns(self string) ([]string, error) {
	for _, name := range []string{"run", "skip", "coverprofile"} {
		if flag.Lookup("test."+name).Value.String() != "" {
			return []string{""}, nil
		}
	}
	const shards = 2
	cmd := exec.Command(self, "-test.list=^(Test|Fuzz|Example)")
	names, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests: %w", err)
	}
	var patterns [shards][]string
	for n, name := range strings.Fields(string(names)) {
		patterns[n%shards] = append(patterns[n%shards], name)
	}
	var all []string
	for _, names := range patterns {
		all = append(all, "^("+strings.Join(names, "|")+")$")
	}
	return all, nil
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
