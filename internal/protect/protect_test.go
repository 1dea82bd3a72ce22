package protect

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes a workspace of files, and of directories where a name ends in a slash.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMatch(t *testing.T) {
	dir := tree(t, "plain/x", "sub/.git/config", "work/.git", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir",
		".git/modules/a/b/HEAD", ".git/modules/a/b/objects/", ".git/modules/a/b/refs/", "bare/HEAD", "bare/objects/", "bare/refs/",
		"common/objects/", "common/refs/", "common/hooks/")
	r, err := CompileRules(dir, Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, entry := range map[string]string{
		".git":                                   ".git",
		".GIT/Hooks":                             ".git/hooks",
		".git/config":                            ".git/config",
		".git/configs":                           ".git",
		".git/config.lock":                       "",
		".git/index.lock.lock":                   "",
		".git/hooks/x.lock.lock":                 ".git/hooks",
		".git/hooks/pre-commit":                  ".git/hooks",
		".git/hooks/pre-commit.lock":             ".git/hooks",
		".git/hooks/pre-commit.sample":           "",
		".git/objects/ab/cd":                     "",
		".git/worktrees/w/gitdir":                ".git/worktrees/*/gitdir",
		".git/worktrees/w/HEAD":                  "",
		".git/worktrees/w/hooks/x":               ".git/hooks",
		".git/modules/a/b/hooks/post-checkout":   ".git/hooks",
		".git/modules/a/b/config":                ".git/config",
		".git/modules/a/later/config":            "",
		"bare/hooks/update":                      ".git/hooks",
		"bare/evil":                              ".git",
		"common/hooks/update":                    ".git/hooks",
		"sub/.git/hooks/x":                       ".git/hooks",
		"sub/.vscode/tasks.json":                 ".vscode",
		"work/.vscode/tasks.json":                ".vscode",
		"plain/.vscode/tasks.json":               "",
		"plain/.git":                             ".git",
		"plain/hooks/x":                          "",
		"a/b/c/.git/config":                      ".git/config",
		".vscode":                                ".vscode",
		".github/workflows/ci.yml":               ".github/workflows",
		".github/dependabot.yml":                 "",
		".github":                                "",
		"node_modules/p/.github/workflows/x.yml": "",
		".bashrc":                                ".bashrc",
		"src/.bashrc":                            "",
		"jenkinsfile":                            "Jenkinsfile",
		".":                                      "",
		"../x/.git/config":                       "",
	} {
		hit, ok := r.Match(filepath.Join(dir, name))
		if ok != (entry != "") || hit.Entry != entry {
			t.Errorf("%s: %+v, %v; want %q", name, hit, ok, entry)
		}
	}
	hit, _ := r.Match(filepath.Join(dir, "sub/.git/hooks/a/b"))
	if want := (ProtectedPath{Entry: ".git/hooks", Top: filepath.Join(dir, "sub/.git"), Path: filepath.Join(dir, "sub/.git/hooks")}); hit != want {
		t.Errorf("got %+v, want %+v", hit, want)
	}
	for name, entry := range map[string]string{".github": ".github/hooks", ".git/modules/x": ".git", ".git/objects": ".git",
		".git/HEAD": "", ".vscode": ".vscode", "src": "", ".git/config": ".git/config"} {
		hit, ok := r.MatchWithType(filepath.Join(dir, name), fs.ModeSymlink)
		if ok != (entry != "") || hit.Entry != entry || hit.ContentRule != "" {
			t.Errorf("a symlink at %s: %+v, %v; want %q", name, hit, ok, entry)
		}
	}
}

func TestFind(t *testing.T) {
	dir := tree(t, ".git/hooks/a.sample", ".git/config", ".git/worktrees/w/gitdir", ".git/worktrees/w/HEAD",
		".git/worktrees/w/commondir", ".git/modules/a/b/c/hooks/x", ".git/modules/a/b/c/HEAD", ".git/modules/a/b/c/objects/",
		".git/modules/a/b/c/refs/", "wt/.git",
		"a/b/.git/config", "a/b/c/.git/config", ".vscode/x", "a/.vscode/x", ".claude/x", "a/b/.envrc")
	if err := os.Symlink("a", filepath.Join(dir, ".codex")); err != nil {
		t.Fatal(err)
	}
	r, err := CompileRules(dir, Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	mounted := []string{".claude", ".git/hooks", ".git/modules/a/b/c/hooks", "a/b/.envrc"}
	judged := append([]string{".git/config", ".git/worktrees/w/commondir", ".git/worktrees/w/gitdir", "a/b/.git/config", "wt/.git"}, mounted...)
	slices.Sort(judged)
	for _, c := range []struct {
		judged bool
		want   []string
	}{{false, mounted}, {true, judged}} {
		got := r.FindReadOnlyPaths(c.judged)
		for i := range got {
			got[i] = r.RelativeName(got[i])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWith(t *testing.T) {
	d := Defaults()
	for _, text := range slices.Concat(d.Deny, d.Ask) {
		if err := ValidatePattern(text); err != nil {
			t.Error(err)
		}
	}
	got, err := d.WithOperatorLists([]string{"secrets", ".vscode"}, []string{".envrc"}, []string{".idea", ".git/hooks"})
	if err != nil {
		t.Fatal(err)
	}
	for text, list := range map[string][]string{"secrets": got.Deny, ".vscode": got.Deny, ".envrc": got.Ask} {
		if !slices.Contains(list, text) {
			t.Errorf("%s is missing in %q", text, list)
		}
	}
	for _, text := range []string{".idea", ".git/hooks"} {
		if slices.Contains(slices.Concat(got.Deny, got.Ask), text) {
			t.Errorf("%s is there", text)
		}
	}
	if slices.Contains(got.Deny, ".envrc") || slices.Contains(got.Ask, ".vscode") {
		t.Error("an entry is in two lists")
	}
	if _, err := d.WithOperatorLists(nil, nil, []string{".vscod"}); err == nil || !strings.Contains(err.Error(), `".vscode"`) {
		t.Errorf("a slip: %v", err)
	}
	for _, text := range []string{"", "/etc", "../x", "a/../b", "*/x", "a/[", "./a", "."} {
		if ValidatePattern(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestHarmlessGitConfig(t *testing.T) {
	for text, want := range map[string]bool{
		"": true,
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n":   true,
		"[remote \"origin\"]\n\turl = https://e.com/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n; c\n# d\n": true,
		"[branch \"main\"]\n remote=origin\n merge = refs/heads/main\n[user]\n name = A B\n":                      true,
		"[core]\n\tworktree = ../../../sub\n":                  true,
		"[core]\n\tworktree = /etc\n":                          false,
		"[core]\n\tworktree = ../../../../..\n":                false,
		"[core]\n\tfsmonitor = touch x\n":                      false,
		"[CORE]\n\tFSMonitor = touch x\n":                      false,
		"[core]\n\thooksPath = h\n":                            false,
		"[core] fsmonitor = x\n":                               false,
		"[core]\n\tbare = false \\\n fsmonitor=x\n":            false,
		"[alias]\n\tst = !sh\n":                                false,
		"[include]\n\tpath = x\n":                              false,
		"[includeIf \"gitdir:/\"]\n\tpath = x\n":               false,
		"[filter \"lfs\"]\n\tclean = x\n":                      false,
		"[remote \"o\"]\n\turl = ext::sh -c x\n":               false,
		"[remote \"--upload-pack=x\"]\n\tpromisor = true\n":    false,
		"[remote \"\\--upload-pack=x\"]\n\turl = .\n":          false,
		"[branch \"b\"]\n\tremote = --upload-pack=x\n":         false,
		"[branch \"--upload-pack=x\"]\n\tmerge = refs/heads/x": false,
		"[extensions]\n\tpartialClone = \"--upload-pack=x\"\n": false,
		"[remote \"o\"]\n\turl = -oProxyCommand=x:y\n":         false,
		"[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n":   false,
		"[submodule \"s\"]\n\turl = -oProxyCommand=x:y\n":      false,
		"[branch]\n\tsort = -committerdate\n":                  true,
		"[remote \"o\"]\n\tuploadpack = x\n":                   false,
		"[credential]\n\thelper = !x\n":                        false,
		"[core \"x\"]\n\tbare = true\n":                        false,
		"[url \"ext::x\"]\n\tinsteadOf = https://\n":           false,
		"[submodule \"x\"]\n\tupdate = !x\n":                   false,
		"[submodule \"x\"]\n\turl = ../x\n":                    true,
		"\ufeff[core]\n\tbare = true\n":                        false,
		"[core]\rfsmonitor = x\n":                              false,
		"[core]\n\tbare = true\x00\n":                          false,
		"[branch.main]\n\tremote = o\n":                        false,
		"[branch \"m\"]\n\tremote = ext::sh -c x\n":            false,
		"[remote \"o\"]\n\turl = ext:\":\"sh -c x\n":           false,
		"[submodule \"x\"]\n\tupdate = rebase\n":               true,
		"[alias]\n\tst = status\n":                             false,
		"[alias]\n\tst = -c core.pager=x log\n":                false,
		"[color \"diff\"]\n\tmeta = blue\n":                    true,
		"[extensions]\n\tobjectFormat = sha1\n":                true,
		"[extensions]\n\tobjectFormat = sha\"256\"\n":          false,
		"[merge]\n\tff = false\n[merge \"a\"]\n\tdriver = b\n": false,
		"[user]\n\tname = a\n[core]\n\tpager = less\n":         false,
	} {
		risky := findRiskyConfigLines([]byte(text), func(_, value string) bool {
			return slices.Contains([]string{"../../../sub", "sha1", "origin", "https://e.com/x"}, value)
		})
		if (len(risky) == 0) != want {
			t.Errorf("%q: %q", text, risky)
		}
	}
	const mixed = "[core]\n\tbare = false\n\tpager = \\\n evil\n[nonsense\n\tname = x\n[user]\n\tname = a\n"
	want := []string{"[core] pager = evil", "[nonsense [nonsense", "[nonsense name = x"}
	if diff := cmp.Diff(want, findRiskyConfigLines([]byte(mixed), nil)); diff != "" {
		t.Error(diff)
	}
}

// A configuration without risky settings names no program, whatever it looks like.
func FuzzHarmlessGitConfig(f *testing.F) {
	f.Add("[core]\n\tfsmonitor = x\n")
	f.Add("[remote \"a\"]\n url=x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(findRiskyConfigLines([]byte(text), func(string, string) bool { return false })) > 0 {
			return
		}
		for line := range strings.Lines(strings.ToLower(text)) {
			line = strings.TrimSpace(line)
			for _, key := range []string{"fsmonitor", "hookspath", "pager", "sshcommand", "helper", "[include", "[alias"} {
				if strings.HasPrefix(line, key) {
					t.Errorf("%q in %q", key, text)
				}
			}
		}
	})
}
