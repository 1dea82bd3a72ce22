package isolation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// TestEmulatedCallsMatchKernel makes the same random calls with and without a monitor.
func TestEmulatedCallsMatchKernel(t *testing.T) {
	iso := configured(t, Config{})
	seeds, calls := 8, 3000
	if testing.Short() {
		seeds, calls = 3, 1500
	}
	for seed := range seeds {
		top := realTemp(t)
		dir := filepath.Join(top, "w")
		p := Profile{Name: "files", Exec: true, Confine: true, ReadOnly: []string{top, os.Getenv(childEnv)}, ReadWrite: []string{dir}}
		var results [2][]string
		for n := range results {
			put(t, filepath.Join(top, "outside", "x"), "outside")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				p.Notice = func(mutation.FileMutation) error { return nil }
			}
			r := outcome(t, iso, child("files", dir, fmt.Sprint(seed), fmt.Sprint(calls)), p)
			if r.err != nil || !r.exit.Success() {
				t.Fatal(r.err, r.exit, r.stderr)
			}
			results[n] = strings.Split(r.stdout, "\n")
			_ = unix.Removexattr(top, "user.one")
			if err := errors.Join(chmodAndRemove(dir), chmodAndRemove(filepath.Join(top, "outside"))); err != nil {
				t.Fatal(err)
			}
		}
		differences := 0
		for n := range min(len(results[0]), len(results[1])) {
			if without, with := results[0][n], results[1][n]; !isSameResult(without, with) && differences < 12 {
				differences++
				t.Errorf("seed %d:\n%s\n%s\n", seed, without, with)
			}
		}
		if len(results[0]) != len(results[1]) {
			t.Errorf("seed %d: %d lines, and %d with a monitor", seed, len(results[0]), len(results[1]))
		}
	}
}

// isSameResult reports whether two lines are equal. Some calls that can't be inspected continue, and linkat then gives
// another error for a descriptor that the emulator opened. A rename from a deleted directory fails before the kernel
// would look at its second name.
func isSameResult(without, with string) bool {
	const failed = `"10000" "0"]: E`
	isFromDeletedDir := strings.Contains(with, " rename") && strings.HasSuffix(with, "]: ENOENT") && strings.Contains(without, "]: E")
	return without == with || strings.Contains(without, failed) && strings.Contains(with, failed) || isFromDeletedDir
}

// chmodAndRemove removes a directory whose directories may have any mode, like its parent.
func chmodAndRemove(dir string) error {
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Git and coreutils set the setgid bit of directories, as in team directories. An emulated chmod keeps the bit where it is,
// and sets it nowhere else.
func TestChmodKeepsSetgidBitOfDirectories(t *testing.T) {
	for _, c := range []struct {
		mode        os.FileMode // before
		chmod, want string
	}{
		{os.ModeDir | os.ModeSetgid | 0o755, "2775", "2775"},
		{os.ModeDir | os.ModeSetgid | 0o755, "2700", "2700"},
		{os.ModeDir | os.ModeSetgid | 0o755, "00755", "755"},
		{os.ModeDir | os.ModeSetgid | os.ModeSticky | 0o777, "3770", "3770"},
		{os.ModeDir | os.ModeSetgid | 0o755, "3770", "2755"},
		{os.ModeDir | 0o755, "2771", "771"},
		{os.ModeDir | 0o755, "6755", "755"},
		{0o644, "2755", "644"},
	} {
		top := realTemp(t)
		name := filepath.Join(top, "x")
		put := func(mode os.FileMode) error {
			if mode.IsDir() {
				return errors.Join(os.Mkdir(name, 0o755), os.Chmod(name, mode))
			}
			return os.WriteFile(name, nil, mode)
		}
		if err := put(c.mode); err != nil {
			t.Fatal(err)
		}
		changes(t, top, "chmod "+c.chmod+" x", func(mutation.FileMutation) error { return nil })
		var stat unix.Stat_t
		if err := unix.Stat(name, &stat); err != nil || fmt.Sprintf("%o", stat.Mode&0o7777) != c.want {
			t.Errorf("%v: mode %o after chmod %s; want %s (%v)", c.mode, stat.Mode&0o7777, c.chmod, c.want, err)
		}
	}
}

// TestRacingPathIsNotUsed changes paths in memory, or descriptors, while calls wait for the monitor's answer.
func TestRacingPathIsNotUsed(t *testing.T) {
	for _, verb := range []string{"race", "raceFD"} {
		t.Run(verb, func(t *testing.T) { testRace(t, verb) })
	}
}

func testRace(t *testing.T, verb string) {
	iso := configured(t, Config{})
	dir := realTemp(t)
	for _, name := range []string{"wgit", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tries := "10000"
	if testing.Short() {
		tries = "3000"
	}
	refused := 0
	p := Profile{Name: "race", Exec: true, Confine: true, ReadOnly: []string{os.Getenv(childEnv)}, ReadWrite: []string{dir}, Notice: func(m mutation.FileMutation) error {
		for _, path := range []string{m.Path, m.To} {
			if strings.HasPrefix(path, filepath.Join(dir, ".git")) {
				refused++
				return unix.EPERM
			}
		}
		return nil
	}}
	if verb == "raceFD" {
		put(t, filepath.Join(dir, ".git", "config"), "")
	}
	cmd := child(verb, tries)
	cmd.Dir = dir
	r := outcome(t, iso, cmd, p)
	if r.err != nil || !r.exit.Success() || r.stdout != "" || refused == 0 {
		t.Error(r.err, r.exit, r.stderr, r.stdout, "refused:", refused)
	}
}

// maxDescriptors opens a file for truncation when the process has no descriptor left.
const maxDescriptors = `
import os, resource
open("f", "w").write("keep")
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
try:
    while True: os.open("f", os.O_RDONLY)
except OSError: pass
try: os.open("f", os.O_WRONLY | os.O_TRUNC)
except OSError as e: print(e.errno, os.path.getsize("f"))
`

// TestEmulatedOpenWaitsForFIFO opens FIFOs that have no other end yet.
func TestEmulatedOpenWaitsForFIFO(t *testing.T) {
	iso := configured(t, Config{})
	dir := realTemp(t)
	p := Profile{Name: "fifo", Exec: true, Confine: true, ReadWrite: []string{dir}, Notice: func(mutation.FileMutation) error { return nil }}
	for script, want := range map[string]string{
		"mkfifo p; (sleep 0.2; cat p) & echo written > p; echo meanwhile > other; wait":                                     "written\n",
		"mkfifo q; (echo early > q) & sleep 0.2; touch beside; cat q; wait":                                                 "early\n",
		"mkfifo r; (timeout 0.3 sh -c 'echo x > r'; echo $?) & touch beside; wait":                                          "124\n",
		"mkfifo s; (echo x > s) & sleep 0.1; kill $!; wait $! 2>/dev/null; echo $?; rm s; ls":                               "143\n",
		"exec 3>&1; echo a > /proc/self/fd/3; echo b > /dev/stdout; echo c | tee /dev/stderr 2>&1 >/dev/null; wait":         "a\nb\nc\n",
		"printf '#!/bin/sh\necho run\n' > tool; chmod 755 tool; for n in 1 2 3 4 5 6 7 8; do : >> tool; ./tool; done":       strings.Repeat("run\n", 8),
		"python3 -c '" + maxDescriptors + "'":                                                                               "24 4\n",
		"ulimit -f 1; truncate -s 1000000 big; echo $?; wc -c < big":                                                        "153\n0\n",
		"(echo x > /dev/tty) 2>/dev/null; echo x > /dev/null && echo $?; (echo x > /proc/self/comm) 2>/dev/null || echo no": "0\nno\n",
	} {
		cmd := shell("cd " + dir + "; rm -rf *; " + script)
		if r := outcome(t, iso, cmd, p); r.err != nil || !strings.HasPrefix(r.stdout, want) {
			t.Errorf("%s: %q, %v %v; want %q (%s)", script, r.stdout, r.err, r.exit, want, r.stderr)
		}
	}
}
