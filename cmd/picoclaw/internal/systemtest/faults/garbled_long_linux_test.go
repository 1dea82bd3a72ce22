//go:build long

package faults_test

import (
	"bufio"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// ways are how a file gets broken.
var ways = map[string]func(text []byte) []byte{
	"emptied": func([]byte) []byte { return []byte{} },
	"zeroed":  func(text []byte) []byte { return make([]byte, len(text)) },
	"cut":     func(text []byte) []byte { return text[:len(text)/2] },
	"random": func(text []byte) []byte {
		random := make([]byte, len(text))
		_, _ = rand.NewChaCha8([32]byte{}).Read(random)
		return random
	},
	"missing":   nil,
	"directory": nil,
	"fifo":      nil,
}

// undetected are missing files that nothing tells from those that a user or picoclaw has removed.
var undetected = []struct{ file, command, why string }{
	{"logs/audit-", "audit verify", "audit.max_files removes files, too; there is a note"},
	{"sessions/main/kept.jsonl", "agent sessions", "it lists the files that are there; to go on with the session fails"},
}

func isUndetected(file, way, command string) bool {
	return way == "missing" && slices.ContainsFunc(undetected, func(u struct{ file, command, why string }) bool {
		return strings.HasPrefix(file, u.file) && command == u.command
	})
}

// volatile matches what differs between two runs of a command on the same home.
var volatile = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*|\bin \d+[hms]\S*|[0-9a-f]{64}`)

// Each file of a home is broken in turn. Every command then answers as before, or names the file.
func TestBrokenFilesAreNamed(t *testing.T) {
	trusted := t.TempDir()
	home := usedHome(t, trusted)
	checks := [][]string{{"audit", "verify"}, {"call", "grep", "pattern=x"}, {"call", "--agent", "other", "list_dir", "path=."},
		{"call", "exec", "command=true"}, {"cron", "list"}, {"cron", "log"}, {"gateway", "token"}, {"mcp", "--http", "127.0.0.1:0"},
		{"agent", "sessions"}, {"agent", "-s", "kept", "-m", "again"}, {"history"}, {"undo", "--dry-run"},
		{"trust", "--project", trusted, "--yes"}}
	saved := hosttest.TempDir(t)
	if err := copyTree(home.Dir, saved); err != nil {
		t.Fatal(err)
	}
	restoreHome(t, home, saved)
	want := map[string]string{}
	for _, args := range checks {
		want[strings.Join(args, " ")] = answer(t, home, args)
	}
	for _, file := range stateFiles(t, saved) {
		text, err := os.ReadFile(filepath.Join(saved, file))
		if err != nil {
			t.Fatal(err)
		}
		for way, broken := range ways {
			restoreHome(t, home, saved)
			path := filepath.Join(home.Dir, file)
			err := os.Remove(path)
			switch {
			case way == "directory":
				err = errors.Join(err, os.Mkdir(path, 0o700))
			case way == "fifo":
				err = errors.Join(err, syscall.Mkfifo(path, 0o600))
			case broken != nil:
				err = errors.Join(err, os.WriteFile(path, broken(text), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range checks {
				before := want[strings.Join(args, " ")]
				if got := answer(t, home, args); got != before && !names(got, file) && !isUndetected(file, way, strings.Join(args, " ")) {
					t.Errorf("%s %s: %v: %s\nbefore: %s", file, way, args, got, before)
				}
			}
		}
	}
}

// usedHome returns a home in which each kind of state has been written. It trusts the settings of a project.
func usedHome(t *testing.T, project string) clitest.Home {
	home := clitest.NewHome(t)
	err := os.MkdirAll(filepath.Join(project, ".picoclaw"), 0o700)
	if err = errors.Join(err, os.WriteFile(filepath.Join(project, ".picoclaw", "config.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	home.UseFakeModel(t, `, "audit": {"max_size": 1500}, "agents": {"agents": [{"id": "main"}, {"id": "other"}]},
		"isolation": {"enabled": false}, "tools": {"disabled": ["exec"]}`, slices.Repeat([]modeltest.ScriptedReply{{Text: "done"}}, 1000)...)
	for _, args := range [][]string{
		{"call", "write_file", "path=a", "content=one"}, {"call", "write_file", "path=a", "content=two"},
		{"call", "read_file", "path=a"}, {"call", "exec", "command=true"}, {"call", "write_file", "path=b", "content=b"},
		{"cron", "add", "once", "--every", "1s", "--message", "hello"}, {"plugin", "disable", "grep"},
		{"stop", "--agent", "other", "--why", "it loops"}, {"gateway", "token"}, {"agent", "-s", "kept", "-m", "hello"},
		{"trust", "--project", project, "--yes"},
	} {
		home.Run(t, args...) // exec is refused
	}
	gateway, _ := home.StartGateway(t)
	hosttest.WaitUntil(t, "the job has run", func() bool {
		out, _ := home.Run(t, "cron", "log")
		return strings.Contains(out, "once")
	})
	clitest.StopServer(t, gateway)
	home.Run(t, "cron", "remove", "once")
	home.Run(t, "cron", "add", "daily", "--cron", "0 9 * * *", "--message", "hello")
	server, _, _ := home.StartMCPServer(t)
	clitest.StopServer(t, server)
	return home
}

// answer returns the output of a command, without parts that differ between two runs on the same home. A server that starts is
// ended, and its answer has the token that it takes.
func answer(t *testing.T, home clitest.Home, args []string) string {
	var out string
	if args[0] != "mcp" {
		out, _ = home.Run(t, args...)
	} else {
		server := home.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
		stderr, err := server.StderrPipe()
		if err == nil {
			err = server.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		out, _ = bufio.NewReader(stderr).ReadString('\n')
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if strings.HasPrefix(out, "serving") {
			token, _ := os.ReadFile(filepath.Join(home.Dir, "mcp-token"))
			out = "serving " + string(token)
		}
	}
	return volatile.ReplaceAllString(strings.ReplaceAll(out, home.Dir, "HOME"), "…")
}

// restoreHome makes a home as its copy is. The home keeps its path, which undo's history depends on.
func restoreHome(t *testing.T, home clitest.Home, saved string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(home.Dir), copyTree(saved, home.Dir)); err != nil {
		t.Fatal(err)
	}
}

// names reports whether an answer names a file: undo archives by their id, and the audit log by the file in which its
// chain breaks.
func names(answer, file string) bool {
	if strings.HasPrefix(file, "logs/") {
		return strings.Contains(answer, "HOME/logs/audit")
	}
	return strings.Contains(answer, strings.TrimSuffix(filepath.Base(file), ".tar"))
}

// stateFiles returns the files of a home that picoclaw keeps its state in. What it can make again is not among them.
func stateFiles(t *testing.T, home string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(home, path)
		switch strings.Split(name, string(filepath.Separator))[0] {
		case "workspace", "workspace-other", "run", "cache", "runtime-user-env", "stopped.reserve":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copyTree copies a home without its reserve.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		target := filepath.Join(to, name)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case !entry.Type().IsRegular() || name == "stopped.reserve":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}
