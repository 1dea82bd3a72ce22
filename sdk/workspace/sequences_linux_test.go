package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

// No sequence of changes to a file that git acts on leaves harmful content at the end of the command.
func TestMonitorLeavesNoHarmfulContent(t *testing.T) {
	t.Parallel()
	backgrounds := []bool{true}
	if !testing.Short() {
		backgrounds = append(backgrounds, false)
	}
	const evil = "[core]\n\tfsmonitor = evil\n"
	files := map[string]struct{ good, bad string }{
		"sub/.git/config":                   {"[core]\n\tbare = false\n", evil},
		".git/modules/s/config":             {"[core]\n\tbare = false\n", evil},
		".git/rebase-merge/git-rebase-todo": {"pick 1\n", "exec evil\n"},
		".git/BISECT_NAMES":                 {" 'a'\n", "; evil\n"},
		"new/.git":                          {"gitdir: ../.git\n", "gitdir: ../evil\n"},
		".git/worktrees/w/gitdir":           {"WORKSPACE/w/.git\n", "/../../../../../../../evil/.git\n"},
	}
	steps := []string{"write good", "write bad", "append bad", "rename good", "rename bad", "remove"}
	for name, file := range files {
		for number := range len(steps) * len(steps) * len(steps) {
			sequence := []string{steps[number%6], steps[number/6%6], steps[number/36]}
			for _, background := range backgrounds {
				g := newGround(t, defaults)
				g.all(".git/HEAD", ".git/config", ".git/objects/x", ".git/refs/x", "evil/HEAD", "evil/objects/x", "evil/refs/x", "evil/config")
				g.put(filepath.Join(g.w, "evil/config"), evil)
				monitor := g.NewChangeMonitor(EnforcerOptions{Background: background})
				path := filepath.Join(g.w, name)
				mkdir := func(dir string) {
					_ = monitored(monitor, mutation.FileMutation{Kind: mutation.Make, Path: dir, Dir: true}, func() error { return os.Mkdir(dir, 0o700) })
				}
				for dir := g.w; dir != filepath.Dir(path); {
					rest, _ := filepath.Rel(dir, path)
					dir = filepath.Join(dir, strings.Split(rest, "/")[0])
					mkdir(dir)
				}
				if filepath.Base(path) == "config" {
					mkdir(filepath.Join(filepath.Dir(path), "objects"))
					mkdir(filepath.Join(filepath.Dir(path), "refs"))
					runStep(monitor, "write", filepath.Join(filepath.Dir(path), "HEAD"), "ref: refs/heads/main\n")
				}
				for _, step := range sequence {
					text := strings.ReplaceAll(file.good, "WORKSPACE", g.w)
					if strings.HasSuffix(step, "bad") {
						text = file.bad
					}
					runStep(monitor, step, path, text)
				}
				monitor.FinishMonitor()
				if text, _ := os.ReadFile(path); strings.Contains(string(text), "evil") {
					t.Errorf("%s: %q, background %v: it has %q", name, sequence, background, text)
				}
			}
		}
	}
}

// runStep changes a file as a command would. The monitor may refuse the change.
func runStep(monitor *ProtectionEnforcer, step, path, text string) {
	open := func(path string, flags int) {
		_ = monitored(monitor, mutation.FileMutation{Kind: mutation.Write, Path: path}, func() error {
			f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, 0o600)
			if err == nil {
				_, err = fmt.Fprint(f, text)
				_ = f.Close()
			}
			return err
		})
	}
	switch {
	case strings.HasPrefix(step, "write"):
		open(path, os.O_TRUNC)
	case strings.HasPrefix(step, "append"):
		open(path, os.O_APPEND)
	case step == "remove":
		_ = monitored(monitor, mutation.FileMutation{Kind: mutation.Remove, Path: path}, func() error { return os.Remove(path) })
	default:
		from := path + ".lock"
		open(from, os.O_TRUNC)
		_ = monitored(monitor, mutation.FileMutation{Kind: mutation.Rename, Path: from, To: path}, func() error { return os.Rename(from, path) })
	}
}

// A repository of the command is somebody else's once somebody has replaced its directory.
func TestMonitorKeepsRepositoryOfOthers(t *testing.T) {
	g := newGround(t, defaults)
	monitor := g.NewChangeMonitor(EnforcerOptions{Background: true})
	top := filepath.Join(g.w, "sub")
	for _, dir := range []string{top, filepath.Join(top, ".git")} {
		creation := mutation.FileMutation{Kind: mutation.Make, Path: dir, Dir: true}
		if err := monitored(monitor, creation, func() error { return os.Mkdir(dir, 0o700) }); err != nil {
			t.Fatal(err)
		}
	}
	envrc := filepath.Join(top, ".envrc")
	runStep(monitor, "write", envrc, "own")
	monitor.births[top] = time.Now().Add(-time.Minute) // the directory at the path is another one since
	runStep(monitor, "append", envrc, "evil")
	if text, err := os.ReadFile(envrc); string(text) != "own" {
		t.Errorf("%q, %v", text, err)
	}
}
