package protect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// instance returns a path that a pattern matches.
func instance(pattern string) string {
	return strings.NewReplacer("/**", "/some/file", "*", "some", "?", "x").Replace(pattern)
}

func rulesOf(t *testing.T, dir string) *Rules {
	t.Helper()
	r, err := CompileRules(dir, Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEntriesAreProtected(t *testing.T) {
	dir := tree(t, "sub/.git/HEAD", "bare/objects/", "bare/refs/", "bare/HEAD")
	r := rulesOf(t, dir)
	for _, text := range slices.Concat(Defaults().Deny, Defaults().Ask) {
		ask := slices.Contains(Defaults().Ask, text)
		places := []string{text, strings.ToUpper(text), "sub/" + text}
		if inside, git := strings.CutPrefix(text, ".git/"); git {
			places = append(places, "bare/"+inside)
		}
		for _, place := range places {
			hit, ok := r.Match(filepath.Join(dir, place))
			if !ok || hit.Entry != text || hit.Ask != ask {
				t.Errorf("%s: %+v, %v; want %s", place, hit, ok, text)
			}
		}
		if allowed, err := Defaults().WithOperatorLists(nil, nil, []string{text}); err != nil {
			t.Error(err)
		} else if r, err := CompileRules(dir, allowed, nil); err != nil {
			t.Error(err)
		} else if hit, ok := r.Match(filepath.Join(dir, text)); ok && hit.Entry == text {
			t.Errorf("%s is protected although it is allowed", text)
		}
	}
}

func TestFreePatternsAreUnprotected(t *testing.T) {
	dir := tree(t, "sub/.git/HEAD", "bare/objects/", "bare/refs/", "bare/HEAD")
	r := rulesOf(t, dir)
	for _, pattern := range knownInGit().Free {
		if strings.ToLower(pattern) != pattern {
			t.Errorf("%s is not in lower case, so it matches nothing", pattern)
		}
		name := instance(pattern)
		for _, git := range []string{".git", "sub/.git", "bare"} {
			for _, path := range []string{name, strings.ToUpper(name), name + ".lock"} {
				if hit, ok := r.Match(filepath.Join(dir, git, path)); ok {
					t.Errorf("%s/%s: %+v", git, path, hit)
				}
			}
			if _, ok := r.Match(filepath.Join(dir, git, "x"+strings.ReplaceAll(name, "/", "-")+"y")); !ok {
				t.Errorf("a neighbour of %s is free", pattern)
			}
		}
	}
	for _, name := range knownInGit().Symlinks {
		if _, ok := r.MatchWithType(filepath.Join(dir, ".git", name), os.ModeSymlink); ok {
			t.Errorf("a symlink at %s is protected", name)
		}
	}
}

func TestJudgedFilesHaveContentRule(t *testing.T) {
	dir := tree(t, ".git/HEAD", ".git/objects/", "other/", "out/HEAD", "gd/HEAD", "gd/objects/", "gd/refs/")
	r := rulesOf(t, dir)
	if err := os.Symlink(".git", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	git := filepath.Join(dir, ".git")
	if err := os.WriteFile(filepath.Join(git, "config"), []byte("[filter \"lfs\"]\n\tclean = x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	texts := map[string]struct{ harmless, risky []string }{
		"config":    {[]string{"", "[core]\nbare=true\n"}, []string{"[core]\npager=x\n", "[alias]\nx=!y\n"}},
		"commondir": {[]string{git + "\n", ".\n"}, []string{outside, "../../..", "../other", "../out", "../gd", "../link", git + " \n", git + "\r\n", " ."}},
		"worktree":  {[]string{dir + "/w/.git\n", "../w/.git"}, []string{outside + "/.git"}},
		"alternates": {[]string{"../../other/objects\n", dir + "/other\n# x\n"}, []string{outside + "\n", dir + "/other \n", "\"" + outside + "\"\n",
			"\"../../oth\\145r\"", dir + "/link\n", " # x\n", "../other\r\n"}},
		"attributes": {[]string{"* text\n", "* filter=none\n", "* -diff\n"}, []string{"* filter=lfs\n"}},
		"todo":       {[]string{"pick a b\n# exec x\nfixup -C c\n"}, []string{"pick a\nexec x\n", "  x y\n", "exec\tx\n", "x\ry\n", "\tx\n"}},
		"number":     {[]string{"12\n", "3"}, []string{"$(x)1\n", "1`x`"}},
		"quoted":     {[]string{"\n", " 'a b' 'it'\\''s'\n"}, []string{"$(x)", " 'a' b", "'a';x", "'a'\\!`x`"}},
		"index":      {[]string{newIndex("a/.gitignore", "b..c")}, []string{"", "DIRC", newIndex("a", ".git/hooks/x")}},
		"strategy":   {[]string{"ort\n"}, []string{"evil\n"}},
		"removal":    {[]string{""}, []string{"0123\tf\x00"}},
		"apply":      {[]string{"", " '-p2' '--whitespace=fix' '--3way'\n"}, []string{" '--build-fake-ancestor=x'\n", " '-p1 --unsafe-paths'\n"}},
		"options":    {[]string{"[options]\nstrategy = ours\nedit = true\n"}, []string{"[options]\n\tstrategy = evil\n"}},
		"gitlink": {[]string{"gitdir: .git\n", "gitdir: " + git}, []string{"gitdir: " + outside, "gitdir: other", git, "x", "gitdir: gd",
			"gitdir: link", "gitdir: .git \n", "gitdir:  .git\n", "gitdir: .git\r\n", "gitdir: .git\t"}},
	}
	kinds := map[string]bool{}
	judged := map[string]string{"../.git": "gitlink", "../.gitmodules": "config"}
	for rel, kind := range knownInGit().Judged {
		judged[rel] = kind
	}
	for rel, kind := range judged {
		kinds[kind] = true
		path := filepath.Join(git, rel)
		hit, ok := r.Match(path)
		if !ok || hit.ContentRule != kind {
			t.Errorf("%s: %+v, %v", rel, hit, ok)
			continue
		}
		for i, list := range [][]string{texts[kind].harmless, texts[kind].risky} {
			for _, text := range list {
				before, after := r.FindRiskyLines(hit, path, nil), r.FindRiskyLines(hit, path, []byte(text))
				if (hit.FindChangedRisk(before, after) == "") != (i == 0) {
					t.Errorf("%s %q: %q", rel, text, after)
				}
				if !(hit.FindChangedRisk(after, after) == "") {
					t.Errorf("%s %q differs from itself", rel, text)
				}
			}
		}
	}
	if len(kinds) != len(texts) {
		t.Errorf("judged %v, tested %d", kinds, len(texts))
	}
}

// What git checks out can't become a hook: a work tree is no git directory, lies in none, and has none in it but .git.
func TestWorkTreeIsOutsideGitDirectories(t *testing.T) {
	dir := tree(t, ".git/HEAD", ".git/hooks/", ".git/modules/sub/HEAD", ".git/modules/sub/objects/",
		".git/modules/sub/refs/", "sub/f", "bare/HEAD", "bare/objects/", "bare/refs/", "bare/x/",
		"gd/HEAD", "gd/objects/", "gd/refs/", "modules/x/HEAD", "modules/x/objects/", "modules/x/refs/")
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := rulesOf(t, dir)
	for _, test := range []struct {
		config, worktree string
		harmless         bool
	}{
		{".git/config", "..", true}, {".git/config", "../sub", false}, {".git/config", "../link", false}, {".git/modules/sub/config", "../../../link", false}, {"modules/x/config", "../../sub", false},
		{"modules/x/config", "..", false}, {".git/modules/sub/config", "../../../sub", true},
		{".git/config", ".", false}, {".git/config", "hooks", false}, {".git/config", "../sub/../.git", false},
		{".git/config", "../bare", false}, {".git/config", "../bare/x", false}, {".git/modules/sub/config", ".", false},
		{".git/modules/sub/config", "../..", false}, {"gd/config", "..", false}, {"gd/config", "../sub", false},
	} {
		path := filepath.Join(dir, test.config)
		hit, ok := r.Match(path)
		risky := r.FindRiskyLines(hit, path, []byte("[core]\n\tworktree = "+test.worktree+"\n"))
		if !ok || (len(risky) == 0) != test.harmless {
			t.Errorf("%s, work tree %s: %v, %q", test.config, test.worktree, ok, risky)
		}
	}
}

func TestWithin(t *testing.T) {
	dir := tree(t, "repo/.git/HEAD", "repo/.git/hooks/x.sample", "repo/f", "hook/.git/hooks/x", "gh/workflows/ci.yml", "bare/HEAD",
		"bare/objects/", "bare/refs/", "bare/hooks/x", "part/objects/", "part/refs/", "part/evil", "vs/.vscode/x", ".github/workflows/a")
	r := rulesOf(t, dir)
	for _, c := range []struct{ at, as, want string }{
		{"repo", "repo", ""}, {"repo", "moved", ""}, {"hook", "hook", "hook/.git/hooks"}, {"gh", "gh", ""},
		{"gh", ".github", ".github/workflows"}, {"gh", "repo/.github", "repo/.github/workflows"}, {".github", ".github", ".github/workflows"},
		{"bare", "bare", "bare/hooks"}, {"bare", "n/.git", "n/.git/hooks"}, {"part", "part", ""}, {"part", "n/.git", "n/.git/evil"},
		{"part", ".git/modules/x", ""}, {"vs", "vs", ""}, {"vs/.vscode", ".vscode", ".vscode"}, {"part/evil", ".git/evil", ".git/evil"},
	} {
		hits, err := r.FindProtectedInTree(filepath.Join(dir, c.at), filepath.Join(dir, c.as))
		got := ""
		if len(hits) > 0 {
			got = r.RelativeName(hits[0].Path)
		}
		if err != nil || got != c.want {
			t.Errorf("%s as %s: %q, %v; want %q", c.at, c.as, got, err, c.want)
		}
	}
	for _, c := range []struct{ dir, name, want string }{
		{"part", "HEAD", "part/evil"}, {"part", "README", ""}, {"vs", ".git", "vs/.vscode"}, {"gh", ".git", ""}, {"repo", "refs", ""},
	} {
		hits, _, err := r.FindProtectedByNewName(filepath.Join(dir, c.dir), c.name, "")
		got := ""
		if len(hits) > 0 {
			got = r.RelativeName(hits[0].Path)
		}
		if err != nil || got != c.want {
			t.Errorf("%s in %s: %q, %v; want %q", c.name, c.dir, got, err, c.want)
		}
	}
}

// A directory that was looked at before is looked at again once it has changed.
func TestMatchSeesChanges(t *testing.T) {
	dir := tree(t, "n/refs/", "n/objects/")
	r, n := rulesOf(t, dir), filepath.Join(dir, "n")
	for known := false; !known; _, known = r.dirs.Load(n) {
		if _, ok := r.Match(filepath.Join(n, "hooks/x")); ok {
			t.Fatal("it is taken for a git directory")
		}
	}
	if err := os.WriteFile(filepath.Join(n, "HEAD"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Match(filepath.Join(n, "hooks/x")); !ok {
		t.Error("it is not taken for a git directory")
	}
}

// The user's git fetches from no repository that agents can't read.
func TestRemoteIsReadable(t *testing.T) {
	dir := tree(t, ".git/HEAD", "bare/HEAD", "home/x.git/HEAD")
	r, readable := rulesOf(t, dir), t.TempDir()
	config := filepath.Join(dir, ".git/config")
	hit, _ := r.Match(config)
	for url, want := range map[string]bool{
		"https://example.com/x": true, "ssh://git@example.com/x": true, "git@example.com:x/y": true, "../" + filepath.Base(dir) + "/bare": false,
		"./bare": true, "bare": true, dir + "/bare": true, "file://" + dir + "/bare": true, readable: true,
		"/root/private": false, "file:///root/private": false, "../other": false, "~/private": false, "a/b:c/../../../x": false,
		"file://localhost" + dir + "/bare": false, "file://" + dir + "/%62are": false, "file://" + dir + "/%2e%2e/x": false, "a/../../x": false,
		"git://example.com/x": true, "codecommit://x": false, "persistent-https://example.com/x": false, "HTTPS://example.com/x": false,
	} {
		for _, key := range []string{"[remote \"o\"]\n\turl", "[remote \"o\"]\n\tpushurl", "[branch \"b\"]\n\tremote", "[remote]\n\tpushDefault"} {
			if risky := r.FindRiskyLines(hit, config, []byte(key+" = "+url+"\n")); (len(risky) == 0) != want {
				t.Errorf("%s = %s: %q", key, url, risky)
			}
		}
	}
}

// A submodule's git directory is not beside its work tree, from which git takes relative paths.
func TestRelativeRemoteOfSubmodule(t *testing.T) {
	t.Parallel()
	dir := tree(t, ".git/HEAD", ".git/modules/sm/HEAD", ".git/modules/sm/objects/", ".git/modules/sm/refs/", "sm/f")
	r, config := rulesOf(t, dir), filepath.Join(dir, ".git/modules/sm/config")
	hit, ok := r.Match(config)
	if err := errors.Join(os.WriteFile(config, []byte("[core]\n\tworktree = ../../../sm\n"), 0o600), os.Symlink("/", filepath.Join(dir, "sm/link"))); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{"../../../secret": false, "../x": false, "origin": true, "link": false, "link/x": false, dir + "/x": true} {
		if risky := r.FindRiskyLines(hit, config, []byte("[remote \"o\"]\n\turl = "+url+"\n")); !ok || (len(risky) == 0) != want {
			t.Errorf("%s: %v, %q", url, ok, risky)
		}
	}
}

// A symlink can't lead the user's git fetch from a remote's path to another repository, also of a repository elsewhere in
// the workspace.
func TestSymlinkOnRemotePath(t *testing.T) {
	t.Parallel()
	dir := tree(t, ".git/HEAD", "app/.git/HEAD", "alt/", "b/c/", "bare.git/HEAD", "bare.git/objects/", "bare.git/refs/")
	for name, text := range map[string]string{
		".git/config": "[remote \"o\"]\n\turl = " + dir + "/alt\n", "app/.git/config": "[remote \"o\"]\n\tpushurl=file://" + dir + "/b/c\n",
		"bare.git/config": "[remote \"o\"]\n\turl = https://example.com/x\n[remote \"p\"]\n\turl = " + dir + "/d\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := rulesOf(t, dir)
	for name, want := range map[string]bool{"alt": true, "b": true, "b/c": true, "d": true, "b/d": false, "x": false, "alt/x": false} {
		if _, ok := r.MatchWithType(filepath.Join(dir, name), os.ModeSymlink); ok != want {
			t.Errorf("a symlink at %s: %v", name, ok)
		}
	}
}

// A symlink can't lead git from a recorded path to the objects of another repository.
func TestSymlinkOnAlternatePath(t *testing.T) {
	dir := tree(t, ".git/HEAD", ".git/objects/", "alt/x/objects/", "sub/f")
	if err := os.MkdirAll(filepath.Join(dir, ".git/objects/info"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/objects/info/alternates"), []byte("../../alt/x/objects\n"+dir+"/sub/objects\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := rulesOf(t, dir)
	for name, want := range map[string]bool{"alt": true, "alt/x": true, "alt/x/objects": true, "sub": true, "alt/y": false, "al": false, "sub/objects/00": false} {
		if _, ok := r.MatchWithType(filepath.Join(dir, name), os.ModeSymlink); ok != want {
			t.Errorf("a symlink at %s: %v", name, ok)
		}
		if _, ok := r.Match(filepath.Join(dir, name)); ok {
			t.Errorf("a file at %s is protected", name)
		}
	}
}

// The work tree of a submodule can't become a symlink, also that of a nested one and in a linked work tree.
func TestSymlinkOnSubmodulePath(t *testing.T) {
	dir := tree(t, ".git/HEAD", ".git/objects/", ".git/refs/", "a/sub/f", "a/sub/b/f", "linked/sub/f", "other/f")
	for name, text := range map[string]string{
		".git/modules/x/HEAD": "", ".git/modules/x/commondir": "", ".git/modules/x/config": "[core]\n\tworktree = ../../../a/sub\n",
		".git/modules/x/modules/n/y/config": "[core]\n\tWorkTree=" + dir + "/a/sub/b\n",
		".git/worktrees/l/HEAD":             "", ".git/worktrees/l/commondir": "../..\n", ".git/worktrees/l/gitdir": dir + "/linked/.git\n",
		".git/worktrees/l/modules/x/HEAD": "", ".git/worktrees/l/modules/x/commondir": "",
		".git/worktrees/l/modules/x/config": "[core]\n\tworktree = ../../../../../linked/sub\n",
		"linked/.git":                       "gitdir: " + dir + "/.git/worktrees/l\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := rulesOf(t, dir)
	for name, want := range map[string]bool{"a": true, "a/sub": true, "a/sub/b": true, "linked/sub": true, "other": false, "a/x": false} {
		if _, ok := r.MatchWithType(filepath.Join(dir, name), os.ModeSymlink); ok != want {
			t.Errorf("a symlink at %s: %v", name, ok)
		}
	}
	for config, worktree := range map[string]string{".git/modules/x/config": "../../../a/sub", ".git/worktrees/l/modules/x/config": dir + "/linked/sub"} {
		path := filepath.Join(dir, config)
		hit, ok := r.Match(path)
		if risky := r.FindRiskyLines(hit, path, []byte("[core]\n\tworktree = "+worktree+"\n")); !ok || len(risky) > 0 {
			t.Errorf("%s: %v, %q", config, ok, risky)
		}
	}
}

// A file is judged before it makes its directory a git directory.
func TestNameThatCompletesGitDirIsMatched(t *testing.T) {
	dir := tree(t, "common/objects/", "common/refs/", "linked/HEAD", "project/refs/", "project/HEAD")
	r := rulesOf(t, dir)
	for name, want := range map[string]bool{
		"common/config": true, "common/CONFIG": true, "linked/commondir": true,
		"common/README": false, "linked/config": false, "project/commondir": true, "project/config": false, "commondir": false,
	} {
		if hit, ok := r.Match(filepath.Join(dir, name)); ok != want || ok && hit.ContentRule == "" {
			t.Errorf("%s: %+v, %v", name, hit, ok)
		}
	}
}

func TestRepositoriesOfAllSystems(t *testing.T) {
	t.Parallel()
	for _, name := range repositoryDirs {
		dir := tree(t, "sub/"+name+"/", "plain/other/")
		r := rulesOf(t, dir)
		for place, want := range map[string]bool{"sub/.envrc": true, "plain/.envrc": false, ".envrc": true} {
			if _, ok := r.Match(filepath.Join(dir, place)); ok != want {
				t.Errorf("%s: %s is protected: %v", name, place, ok)
			}
		}
	}
}
