//go:build long

package faults_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// ways are how a file gets broken; nil stands for one that is missing.
var ways = map[string]func(text []byte) []byte{
	"emptied": func([]byte) []byte { return []byte{} },
	"zeroed":  func(text []byte) []byte { return make([]byte, len(text)) },
	"cut":     func(text []byte) []byte { return text[:len(text)/2] },
	"garbled": func(text []byte) []byte { return bytes.Repeat([]byte("\xff{garbled"), 1+len(text)/9) },
	"overwritten": func(text []byte) []byte {
		text = bytes.Clone(text)
		for i := len(text) / 3; i < min(len(text)/3+16, len(text)); i++ {
			text[i] = '#'
		}
		return text
	},
	"missing": nil,
}

// undetected are changes that nothing tells from what a user does.
var undetected = []struct{ file, way, why string }{
	{"config.json", "missing", "a home needs no configuration; only a process that has read one knows"},
	{"logs/audit.jsonl", "missing", "the log without its latest entries; a noted head or a witness tells"},
	{"logs/audit.jsonl", "emptied", "the log without its latest entries; a noted head or a witness tells"},
	{"logs/audit-", "missing", "audit.max_files removes files, too; verify has a note"},
	{"schedule/main/jobs.json", "missing", "an agent without jobs has none"},
	{"tokens/main", "missing", "a new token is made, and clients with the old one are refused"},
	{"tokens/main", "cut", "people write tokens, too; clients with the whole one are refused"},
}

func isUndetected(file, way string) bool {
	return slices.ContainsFunc(undetected, func(u struct{ file, way, why string }) bool {
		return strings.HasPrefix(file, u.file) && way == u.way
	})
}

// volatile matches what differs between two runs of a command on the same home.
var volatile = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*|\bin \d+[hms]\S*|[0-9a-f]{64}`)

// Each file of a home is broken in turn. Every command then answers as before, or names the file.
func TestBrokenFilesAreNamed(t *testing.T) {
	made := clitest.NewHome(t)
	made.Configure(t, `{"audit": {"max_size": 1500}, "agents": {"agents": [{"id": "main"}, {"id": "other"}]},
		"isolation": {"enabled": false}, "tools": {"disabled": ["exec"]}}`)
	for _, args := range [][]string{
		{"call", "write_file", "path=a", "content=one"}, {"call", "write_file", "path=a", "content=two"},
		{"call", "read_file", "path=a"}, {"call", "exec", "command=true"}, {"call", "write_file", "path=b", "content=b"},
		{"cron", "add", "daily", "--cron", "0 9 * * *", "--message", "hello"}, {"plugin", "disable", "grep"},
		{"stop", "--agent", "other", "--why", "it loops"}, {"gateway", "token"},
	} {
		made.Run(t, args...) // exec is refused
	}
	checks := [][]string{{"call", "grep", "pattern=x"}, {"call", "--agent", "other", "list_dir", "path=."}, {"call", "exec", "command=true"},
		{"audit", "verify"}, {"cron", "list"}, {"history"}, {"gateway", "token"}}
	answer := func(home clitest.Home, args []string) string {
		out, _ := home.Run(t, args...)
		out = strings.ReplaceAll(out, home.Dir, "HOME")
		return volatile.ReplaceAllString(out, "…")
	}
	copyHome := func() clitest.Home {
		home := clitest.NewHome(t)
		if err := copyTree(made.Dir, home.Dir); err != nil {
			t.Fatal(err)
		}
		return home
	}
	baseline := copyHome()
	want := map[string]string{}
	for _, args := range checks {
		want[args[0]+args[1%len(args)]] = answer(baseline, args)
	}
	for _, file := range stateFiles(t, made.Dir) {
		text, err := os.ReadFile(filepath.Join(made.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for way, broken := range ways {
			if isUndetected(file, way) {
				continue
			}
			home := copyHome()
			path := filepath.Join(home.Dir, file)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if broken != nil {
				if err := os.WriteFile(path, broken(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range checks {
				got := answer(home, args)
				if got != want[args[0]+args[1%len(args)]] && !names(got, file) {
					t.Errorf("%s %s: %v: %s\nbefore: %s", file, way, args, got, want[args[0]+args[1%len(args)]])
				}
			}
			if err := os.RemoveAll(home.Dir); err != nil {
				t.Fatal(err)
			}
		}
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
