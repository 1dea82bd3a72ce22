package run_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// newLinkedWorkTree returns a project that is a linked work tree of the repository main, which has another one.
func newLinkedWorkTree(t *testing.T) (linked *project, main string) {
	t.Helper()
	p := newProject(t)
	for _, args := range [][]string{
		{"config", "--global", "user.name", "n"}, {"config", "--global", "user.email", "n@example.com"},
		{"commit", "-q", "--allow-empty", "-m", "first"}, {"gc", "-q"}, {"worktree", "add", "-q", "../other"},
		{"worktree", "add", "-q", "../linked", "-b", "feature"}, {"commit", "-q", "--allow-empty", "-m", "second"},
	} {
		p.command("git", args...).mustRun(t)
	}
	linked = &project{t: t, home: p.home, dir: filepath.Join(filepath.Dir(p.dir), "linked"), env: p.env}
	return linked, p.dir
}

func TestGitWorksInLinkedWorkTree(t *testing.T) {
	t.Parallel()
	p, main := newLinkedWorkTree(t)
	out, stderr, code := p.run(`set -e
		echo text > f; git add f; git commit -qm third; git branch old; git pack-refs --all; git branch -d old
		git checkout -qb next; git branch -qu feature; echo more >> f; git stash -q; git stash pop -q; git commit -qam fourth
		git rebase -q master; git fetch -q .; git config branch.next.description words; git worktree list`)
	if code != 0 || !strings.Contains(out, main) {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	p.command("git", "fsck", "--strict").mustRun(t)
	if log := p.command("git", "-C", main, "log", "--format=%s", "next").mustRun(t); log != "fourth\nthird\nsecond\nfirst\n" {
		t.Errorf("commits of the run: %q", log)
	}
	if status := p.command("git", "-C", main, "status", "-sb").mustRun(t); status != "## master\n" {
		t.Errorf("the main work tree has changed: %s", status)
	}
}

// A program in a linked work tree changes neither hooks and settings that run programs, nor other work trees, nor deletes
// history, which undo does not cover.
func TestSharedGitDirHolds(t *testing.T) {
	t.Parallel()
	p, main := newLinkedWorkTree(t)
	snapshot := func() string {
		return p.command("sh", "-c", `cd "$1"; find . -type f ! -path '*/worktrees/linked/*' | sort | while read f; do echo "$(stat -c '%n %i' $f) $(sha256sum <$f)"; done`,
			"sh", filepath.Join(main, ".git")).mustRun(t)
	}
	before := snapshot()
	out, stderr, _ := p.run(`git=` + main + `/.git
		for f in $(find $git -type f | grep -v /worktrees/linked/) $git/hooks/pre-commit $git/config.worktree $git/worktrees/other/x; do
			rm -f $f; echo x > $f; echo x > $git/packed-refs.new; mv $git/packed-refs.new $f; mv $f $git/refs/x
			chmod 600 $f; ln $f $git/objects/tmp_x && echo x > $git/objects/tmp_x; python3 -c "import os; os.truncate('$f', 0)"; rm -f $git/refs/x
		done
		for d in hooks objects objects/pack worktrees/other worktrees refs logs; do mv $git/$d $git/objects/tmp_dir; mv $git/$d moved; rm -rf $git/$d; done
		git config core.fsmonitor ./x; git worktree prune --expire now; git gc --prune=now; true`)
	after := snapshot()
	// The program may change refs and reflogs, of which there is a copy, and files that git makes anew.
	changeable := regexp.MustCompile(`^\./(refs|logs/refs|packed-refs|info/exclude|objects/info)`)
	for line := range strings.Lines(before) {
		if !changeable.MatchString(line) && !strings.Contains(after, line) {
			t.Errorf("changed: %s", line)
		}
	}
	for line := range strings.Lines(after) {
		if name, _, _ := strings.Cut(line, " "); !strings.Contains(before, name) && !changeable.MatchString(line) && !strings.HasPrefix(line, "./objects/") {
			t.Errorf("created: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s%.5000s", out, stderr)
	}
	for _, name := range []string{"packed-refs", "refs/heads/master", "logs/refs/heads/master", "worktrees/linked/HEAD"} {
		copies, _ := filepath.Glob(filepath.Join(p.home, "runs", "*", "git", name))
		if len(copies) != 1 {
			t.Errorf("copies of %s from before the run: %v", name, copies)
		}
	}
}

// Files of other work trees are mounted read-only, in addition to the check of each change.
func TestSharedGitDirIsPartlyReadOnly(t *testing.T) {
	t.Parallel()
	p, main := newLinkedWorkTree(t)
	mounts, stderr, _ := p.run("cat /proc/self/mounts")
	for _, name := range []string{"HEAD", "index", "hooks", "worktrees/other", "logs/HEAD"} {
		if !strings.Contains(mounts, " "+filepath.Join(main, ".git", name)+" ") {
			t.Errorf("%s is not mounted: %s%s", name, mounts, stderr)
		}
	}
}

func TestForgedGitFileIsRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	other := filepath.Join(filepath.Dir(p.dir), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	other = filepath.Join(other, ".git")
	if err := os.Rename(filepath.Join(p.dir, ".git"), other); err != nil {
		t.Fatal(err)
	}
	p.write(".git", "gitdir: "+other+"\n")
	out, stderr, code := p.run("ls " + other)
	if code == 0 || out != "" || !strings.Contains(stderr, "git worktree repair") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
}

func TestGitWorksInSubmodule(t *testing.T) {
	t.Parallel()
	p, main := newLinkedWorkTree(t)
	p.command("git", "-C", main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", p.dir, "sub").mustRun(t)
	p.dir = filepath.Join(main, "sub")
	_, stderr, code := p.run("git commit -q --allow-empty -m third && ! touch ../.git/modules/sub/hooks/pre-push && ! ls ../.git/config")
	if code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestRunInNewWorkTree(t *testing.T) {
	t.Parallel()
	p, main := newLinkedWorkTree(t)
	tree := main + ".worktrees/fix"
	for _, from := range []string{main, p.dir, tree} { // the first one creates it
		p.dir = from
		out, stderr, code := p.run("pwd; git branch --show-current; echo text >> f; git add f; git commit -qm changed", "--worktree", "fix")
		if code != 0 || out != tree+"\nfix\n" {
			t.Fatalf("from %s: exit code %d: %s%s", from, code, out, stderr)
		}
	}
	if got := p.command("git", "-C", main, "rev-list", "--count", "master..fix").mustRun(t); got != "3\n" {
		t.Errorf("%s commits on the branch", got)
	}
	p.dir = main
	if err := os.Mkdir(main+".worktrees/taken", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"../x": "can't name a work tree", "taken": "is no work tree of"} {
		if out, stderr, code := p.run("true", "--worktree", name); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d: %s%s", name, code, out, stderr)
		}
	}
}
