package protected_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// projects is a repository with a work tree, one that is nested, and an editor's settings.
const projects = `
git init -q -b main .; git config gc.auto 0; git config alias.x '!true'; echo 1 > f; git add f; git commit -qm one; git branch side
git init -q -b main sub; echo 1 > sub/f; git -C sub add f; git -C sub commit -qm one
git worktree add -q old; mkdir .vscode; echo '{}' > .vscode/settings.json; mkdir -p e/template/hooks; echo evil > e/template/hooks/post-commit; chmod +x e/template/hooks/post-commit
`

// protectedAgent is an agent in such projects whose commands stand in files, where no guard reads them.
func protectedAgent(t *testing.T, isolated, protected bool, scripts ...string) (a *clitest.Agent, calls []clitest.ToolCall) {
	t.Helper()
	a = clitest.NewAgent(t, isolated, fmt.Sprintf("PICOCLAW_WORKSPACE_PROTECT_ENABLED=%v", protected))
	if err := os.Mkdir(filepath.Join(a.Home, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, script := range scripts {
		name := fmt.Sprintf("e/%d.sh", i)
		text := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(a.Home, "scripts", filepath.Base(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, clitest.NewExecCall("bash -e "+name))
	}
	a.RunBashDirectly(projects + "cp ../scripts/* e; cp -a . ../kept") // from where they come back sooner than git makes them
	return a, calls
}

// Git works in a protected repository, and nothing of what it does is taken for an attack.
func TestGitIsUsableWhereItIsProtected(t *testing.T) {
	t.Parallel()
	scripts := []string{
		"echo 2 > f; git add f; git commit -qm two; git commit -q --amend -m three",
		"git checkout -q side; echo x > g; git add g; git commit -qm g; git checkout -q main; git merge -q --no-edit side",
		"git branch another; git tag t; git tag -d t; git checkout -q -b work; git checkout -q main",
		"echo 3 > f; git stash -q; git stash pop -q; git stash -q; git stash drop -q; git reset -q --hard",
		"git fetch -q sub main; git fetch -q ./sub main:fetched; git log --oneline fetched; git cherry-pick fetched || git cherry-pick --abort",
		"git worktree add -q w; cd w; echo 4 > f; git commit -qam four; git status; git log --oneline; cd ..; git worktree list",
		"git worktree remove --force w; git worktree prune",
		"cd old; echo 5 > f; git commit -qam five; git rebase -q HEAD~1; git stash list; git fetch -q ../sub main",
		"cd sub; echo 6 > f; git commit -qam six; git checkout -q -b b; git gc -q",
		"git init -q fresh; cd fresh; git config user.name x; git commit -q --allow-empty -m x; git checkout -q -b y",
		"git clone -q sub copy; cd copy; git pull -q; git status; git checkout -q -b z origin/main",
		"mkdir .github; echo x > .github/dependabot.yml",
		"git remote add o ./sub; git fetch -q o; git switch -q -c tracking o/main; git switch -q main; git branch -q -D tracking; git remote rename o p; git remote remove p",
		"git checkout -q -b topic; for i in 7 8 9; do echo $i > h; git add h; git commit -qm $i; done; EDITOR=true GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' git rebase -q -i HEAD~3; git checkout -q main; git branch -D topic",
		"git -c protocol.file.allow=always submodule add -q ./sub lib/sub; git commit -qm sub; git submodule update --init; git submodule status",
		"git submodule deinit -q -f lib/sub; git -c protocol.file.allow=always submodule update -q --init; git config user.name b",
		"git clone -q --bare sub b.git; git clone -q -s sub s.git; git clone -q --mirror sub m.git; git -C s.git log -1; git -C b.git gc -q",
		"git worktree add -q -b wb w2; git worktree move w2 w3; git -C w3 status; git worktree remove w3; git branch -D wb",
		"mv s.git s2.git; cp -r s2.git s3.git; git -C s3.git status; tar cf t.tar s3.git; rm -rf s3.git; tar xf t.tar; rm -rf s2.git s3.git t.tar b.git m.git",
		"seq 20 > n; git add n; git commit -qm n; sed -i 's/^1$/x/; s/^20$/y/' n; printf 'y\\nn\\n' | git commit -q -p -m part; git commit -qam rest",
		"git checkout -q -b am HEAD~1; echo z > z; git add z; git commit -qm z; git rebase -q --apply main; git checkout -q main; git branch -D am",
		"git clone -q --bare . b.git; git -C b.git worktree add -q ../bw; rm -rf b.git bw", "git init -q --shared team; cd team; git commit -q --allow-empty -m x",
		"rm -rf copy fresh; git fsck --full", "git rebase -q HEAD; git bisect start; git bisect reset; git gc -q",
	}
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			a, calls := protectedAgent(t, isolated, true, scripts...)
			for i, r := range a.RunBatch(calls...) {
				if !r.OK || len(r.Structured.Protected)+len(r.Structured.PutAside) > 0 {
					t.Errorf("%s: %v %s", scripts[i], r.Error, r.Text)
				}
			}
			if fsck := git(a, "fsck", "--full"); !strings.HasPrefix(fsck, "") || strings.Contains(fsck, "error") {
				t.Error(fsck)
			}
		})
	}
}

func git(a *clitest.Agent, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = a.Workspace, a.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "error: " + err.Error() + "\n" + string(out)
	}
	return string(out)
}

// evilCommit makes a commit $E of hooks without checking it out.
const evilCommit = `set +e; export GIT_INDEX_FILE=$PWD/e/index; b=$(echo evil | git hash-object -w --stdin)
git update-index --add --cacheinfo 100755,$b,hooks/post-commit --cacheinfo 100755,$b,post-commit --cacheinfo 100755,$b,extra
E=$(git commit-tree -m x $(git write-tree)); `

// attacks are what a command may try against what is protected.
var attacks = []string{
	"echo evil > .git/hooks/post-commit", "cp /bin/true .git/hooks/pre-commit", "ln -s /bin/true .git/hooks/pre-push",
	"mkdir -p .git/hooks/x", "echo '[core] fsmonitor = evil' >> .git/config", "git config core.fsmonitor evil",
	"printf x > c; mv -f c .git/config", "ln .git/config c; echo evil >> c", "ln -s .git/config l; echo evil >> l",
	"chmod 777 .git/config", "truncate -s 0 .git/config", "rm -f .git/config", "touch -d yesterday .git/config",
	"mv .git g; mkdir .git; cp -r g/. .git; echo evil > .git/hooks/post-commit",
	"mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/post-commit",
	"python3 -c 'import os; os.rename(\".git\", \"g\")'", "echo ../../evil > .git/commondir",
	"python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\".git\", -100, b\"e\", 2)'; echo evil > .git/hooks/post-commit",
	"cd .git; cd hooks; echo evil > post-commit", "cd .git/hooks; exec 3> post-commit; echo evil >&3",
	"cp -r .git e/g; echo evil > e/g/hooks/post-commit; mv .git/hooks e/h; mv e/g/hooks .git/hooks",
	"echo evil > sub/.git/hooks/post-commit", "mv sub s2; mkdir -p sub/.git/hooks; echo evil > s2/.git/hooks/post-commit || true; rm -r sub; mv s2 sub",
	"rm -rf sub/.git/hooks; mkdir sub/.git/hooks", "git -C sub config alias.st '!evil'",
	"echo 'gitdir: /tmp/evil' > old/.git", "rm old/.git; mkdir -p old/.git/hooks; echo evil > old/.git/hooks/post-commit", "echo /tmp/evil > .git/worktrees/old/commondir",
	"echo /tmp/evil > .git/worktrees/old/gitdir", "mv .git/worktrees/old e/old",
	"echo evil > .vscode/tasks.json", "rm -rf .vscode; mkdir .vscode; echo evil > .vscode/tasks.json",
	"mv .vscode v; mkdir .vscode", "mkdir .idea", "mkdir .devcontainer", "mkdir .husky; echo evil > .husky/pre-commit",
	"mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml", "mkdir -p gh/workflows; mv gh .github",
	"mkdir -p gh/workflows; ln -s gh .github; echo evil > .github/workflows/ci.yml", "echo evil > .gitlab-ci.yml",
	"echo evil > .envrc", "echo '{}' > .mcp.json", "mkdir -p .claude/commands", "mkdir .codex", "mkdir -p .cursor/rules",
	"echo x > .ripgreprc", "echo evil >> .bashrc", "echo evil > .zshenv", "echo evil > .gitmodules",
	"mkdir d; echo evil > d/.envrc; mv d/.envrc .envrc", "ln -s e .claude", "mkfifo .envrc", "echo evil > sub/.envrc",
	"mkdir n; cd n; git init -q .; echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
	"git init -q n; git -C n config core.fsmonitor evil", "git init -q n; git -C n config core.hooksPath ../e",
	"git init -q n; git -C n config include.path ../e/c", "mkdir n; ln -s ../.git n/.git", "mkdir n; echo 'gitdir: /tmp/x' > n/.git",
	"mkdir n; echo 'gitdir: ../e/g' > n/.git", "cp -r .git e/g; echo evil > e/g/hooks/post-commit; mkdir n; mv e/g n/.git",
	"git init -q n; echo ../../e > n/.git/commondir", "git init -q --template=e n; mkdir -p n/.git/hooks; echo x > n/.git/hooks/update",
	"git worktree add -q w; echo /tmp/evil > .git/worktrees/w/commondir", "git worktree add -q w; echo 'gitdir: /tmp/x' > w/.git",
	"python3 -c 'import os; f = os.open(\".git\", os.O_RDONLY); h = os.open(\"hooks\", os.O_RDONLY, dir_fd=f); os.open(\"x\", os.O_WRONLY | os.O_CREAT, dir_fd=h)'",
	"python3 -c 'import os; f = os.open(\".\", os.O_TMPFILE | os.O_RDWR); os.link(\"/proc/self/fd/%d\" % f, \".envrc\", follow_symlinks=True)'",
	"tar cf e/t.tar --transform 's,^f$,.git/hooks/post-commit,' f; tar xf e/t.tar", "unshare -Ur bash -c 'echo evil > .git/hooks/post-commit'",
	"echo evil | tee .git/hooks/post-commit", "dd of=.git/hooks/post-commit if=f", "rsync f .git/hooks/post-commit || cp f .git/hooks/",
	"mkdir n; mv -T sub n; echo evil > n/.git/hooks/post-commit || mv n sub", "mkdir n; echo x > n/x; mv -T n sub || true; echo evil > sub/.git/hooks/x",
	"git init -q m; echo evil > m/.git/hooks/post-commit; mv m n", "git init -q m; echo evil > m/.git/hooks/x; mv m/.git e/g; mkdir n; mv e/g n/.git",
	"mkdir n; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"n\", -100, b\"sub\", 2)'; echo evil > n/.git/hooks/post-commit || mv -T n m; rmdir sub; mv m sub",
	"mkdir n; rmdir n; mv sub n; git -C n config core.fsmonitor evil || mv n sub", "mkdir n n/.git; rmdir n/.git; mv -T sub n; git -C n config core.fsmonitor evil || mv n sub",
	"echo evil > /proc/self/cwd/.git/hooks/post-commit", "ln -s /proc/self/cwd/.git/hooks m; echo evil > m/post-commit",
	"echo evil > /proc/thread-self/cwd/sub/.git/hooks/x", "exec 3< .git/hooks/pre-push.sample; chmod 777 /proc/self/fd/3; chmod 777 /dev/fd/3",
	"python3 -c 'import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open(\".git/hooks/x\", \"w\")'",
	"f=$(printf './%.0s' $(seq 2040)); echo evil > ${f}.zshenv", "git init -q n; git -C n config core.fsmonitor evil; chmod 500 n/.git",
	"git init -q n; echo evil > n/.git/hooks/x; chmod 500 n/.git/hooks n/.git n",
	"git init -q n; printf '[core]\nbare=false\n' > l; ln -f l n/.git/config", "printf '[core]\nfsmonitor=evil\n' > l",
	"mkdir 'x (deleted)'; cd 'x (deleted)'; mkdir -p ../.github/workflows; echo evil > ../.github/workflows/ci.yml",
	"mkdir -p d 'd (deleted)'; cd d; rmdir ../d; echo evil > ../.envrc",
	"mkdir -p gh/workflows; echo evil > gh/workflows/ci.yml; mkdir .github; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"gh\", -100, b\".github\", 2)'",
	"git init -q $HOME/z; echo evil > $HOME/z/.git/hooks/post-commit; mv $HOME/z n; rm -rf $HOME/z",
	"mkdir -p .git/modules/a; git init -q --separate-git-dir=.git/modules/a/b n; echo evil > .git/modules/a/b/hooks/post-commit",
	"mkdir -p .git/modules/a; git init -q --separate-git-dir=.git/modules/a/b n; echo ../../../e > .git/modules/a/b/commondir",
	"mkdir n; git init -q --separate-git-dir=n/gd n; echo evil > n/gd/hooks/update", "git init -q n; git init -q --bare n/gd; echo ../gd > n/.git/commondir",
	"git init -q --bare g; ln -s g l; mkdir n; echo gitdir: ../l > n/.git",
	"git init -q --bare n; echo evil > n/hooks/update", "git init -q --bare n; cd n; git config core.fsmonitor evil",
	"git worktree add -q w; echo evil > .git/worktrees/w/config.worktree",
	"python3 -c 'import os; f = os.open(\".\", os.O_RDONLY); open(\"c\", \"w\").write(\"evil\"); exec(\"os.makedirs(\\\"d\\\" * 200, exist_ok=True); os.chdir(\\\"d\\\" * 200);\" * 25); open(\"c\", \"w\").write(\"evil\"); os.rename(\"c\", \".envrc\", dst_dir_fd=f)'",
	"printf '[core]\nfsmonitor=evil\n' > .git/config.lock; mv .git/config.lock .git/config",
	"printf '[core]\nbare=false\n' > c; python3 -c 'import os; f = open(\"c\", \"a\"); os.rename(\"c\", \".git/config\"); f.write(\"fsmonitor=evil\\n\")'",
	"printf '[core]\nbare=false\n' > c; ln c d; mv -f c .git/config; printf 'fsmonitor=evil\n' >> d",
	// A commit may hold any file; $E has hooks at three depths.
	evilCommit + "GIT_WORK_TREE=.git git checkout -f $E -- .", evilCommit + "git --git-dir=.git --work-tree=.git/hooks checkout -f $E -- .",
	evilCommit + "git -c core.worktree=.. -C .git checkout -f $E -- hooks; cd .git; git --work-tree=. checkout -f $E -- hooks",
	evilCommit + "cd sub; GIT_DIR=$PWD/../.git GIT_WORK_TREE=$PWD/.git git checkout -f $E -- .", evilCommit + "rm -f .git/hooks/*; git worktree add -q -f --detach .git/hooks $E",
	evilCommit + "git --work-tree=sub/.git restore --source=$E .", evilCommit + "git --work-tree=.git read-tree -u --reset $E", evilCommit + "git --work-tree=.git checkout-index -f -a",
	evilCommit + "git checkout-index -f -a --prefix=.git/", evilCommit + "git checkout-index -f -a --prefix=sub/.git/hooks/", evilCommit + "git archive $E | tar x -C .git", evilCommit + "git --work-tree=.git merge -q --allow-unrelated-histories $E",
	evilCommit + "mkdir n; cd n; GIT_DIR=$PWD/../sub/.git GIT_COMMON_DIR=$PWD/../.git GIT_WORK_TREE=$PWD/../sub/.git git checkout -f $E -- .",
	evilCommit + "git clone -q -c core.worktree=$PWD/.git . n; git -C n checkout -f $E -- .", "set +e; git init -q --template=e/template n; git init -q --template=e/template .; git init -q --template=e/template sub",
	"git clone -q --template=e/template sub n", "git clone -q --bare --template=e/template sub n", "set +e; mkdir n; git init -q --separate-git-dir=n/gd sub; echo evil > n/gd/hooks/post-commit",
	"set +e; git init -q --separate-git-dir=n .; echo evil > n/hooks/post-commit", "set +e; git init -q n; git init -q --separate-git-dir=e/g n; cp e/template/hooks/post-commit e/g/hooks; mkdir e/h; git init -q --separate-git-dir=e/h/g n; echo evil > e/h/g/hooks/post-commit; mv e/h/g n/hooks",
	"git -c init.templateDir=$PWD/e/template init -q n", "GIT_TEMPLATE_DIR=$PWD/e/template git clone -q sub n", "set +e; git -c core.hooksPath=$PWD/e/template/hooks commit -q --allow-empty -m x; git config core.hooksPath e/template/hooks",
	"set +e; GIT_CONFIG=.git/config git config alias.x '!evil'; git config --file .git/config alias.x '!evil'; GIT_DIR=.git git config --local alias.x '!evil'; git -C sub config --worktree alias.x '!evil'",
	"set +e; git config --rename-section alias filter; git config --remove-section alias; git config --unset alias.x", "set +e; git submodule add -q --name ../../hooks ./sub n; git -c protocol.file.allow=always submodule add -q --name ../hooks ./sub n; git -C sub init -q --separate-git-dir=$PWD/.git/modules/n; echo evil > .git/modules/n/hooks/x",
	"set +e; git -c protocol.file.allow=always submodule add -q ./sub n; git submodule absorbgitdirs; git config -f .gitmodules submodule.n.update '!evil'; git config submodule.n.update '!evil'",
	"set +e; git remote add evil 'ext::evil'; git config remote.evil.uploadpack evil; git config remote.evil.vcs evil; git remote set-url --add evil ext::evil", "set +e; git bundle create -q n --all; git bundle unbundle n; git lfs install --local || git config filter.lfs.process evil",
	"set +e; git maintenance start; git maintenance register --config-file .git/config; git config maintenance.repo evil; git fsmonitor--daemon start; git config core.fsmonitor true", "set +e; git update-index --fsmonitor; git update-server-info; git rerere; git sparse-checkout set --cone e; git config core.sparseCheckout x; git sparse-checkout disable; git config core.pager evil",
	"mkfifo d; echo evil > d/HEAD || true; echo evil > d/.git || true; rm d; echo evil > .git/hooks/x", "ln -s e .github", "ln -s ../../e .git/modules", "rm -rf .git/info; ln -s ../e .git/info",
	"( setsid bash -c 'sleep 0.1; echo evil > .git/hooks/post-commit' & ); sleep 0.4",
	"git config core.worktree ../sub", "git config branch.main.mergeOptions '-F /evil'", "git config pull.octopus evil", "git config remote.o.url /evil",
	"mkdir -p .git/rr-cache/x; echo evil > .git/rr-cache/x/postimage", "printf 'x\tevil\\0' > .git/MERGE_RR", "printf 'x\tevil\\0' > m; mv m .git/MERGE_RR",
	"mkdir -p .git/rebase-apply; echo ' --build-fake-ancestor=evil' > .git/rebase-apply/apply-opt",
	"mkdir -p .git/objects/x/objects .git/objects/x/refs; echo 'ref: x' > .git/objects/x/HEAD; printf '[core]\nfsmonitor=evil\n' > .git/objects/x/config",
}

// danger describes all that runs or is believed later: it stays as it was whatever commands try. Of a new repository or
// work tree what git makes is left out.
func danger(a *clitest.Agent) string {
	a.T.Helper()
	var lines []string
	for _, top := range []string{".", "sub", "old", "n", "w", "s2"} {
		for _, name := range []string{".git", ".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks", ".git/hooks/*",
			".git/worktrees/*/gitdir", ".git/worktrees/*/commondir", ".git/worktrees/*/config.worktree", ".git/modules/*/*/hooks/*",
			".git/modules/*/*/config", ".git/modules/*/*/commondir", ".git/modules", ".git/info", ".git/rr-cache/*", ".git/MERGE_RR",
			".git/rebase-apply/apply-opt", ".git/objects/x/config", "hooks/*", "gd/hooks/*", ".git/extra", ".git/post-commit", ".git/modules/x/hooks/*", "config", ".github", ".envrc", ".vscode", ".vscode/*", ".idea", ".devcontainer",
			".husky", ".husky/*", ".github/workflows", ".github/workflows/*", ".gitlab-ci.yml", ".mcp.json", ".claude", ".codex", ".cursor", ".ripgreprc", ".bashrc",
			".zshenv", ".gitmodules"} {
			if top == "." && strings.HasPrefix(name, "hooks/") {
				continue // the workspace itself is no git directory
			}
			found, err := filepath.Glob(filepath.Join(a.Workspace, top, name))
			if err != nil {
				a.T.Fatal(err)
			}
			for _, path := range found {
				info, err := os.Lstat(path)
				if err != nil {
					a.T.Fatal(err)
				}
				text := ""
				if info.Mode().IsRegular() {
					data, err := os.ReadFile(path)
					if err != nil {
						a.T.Fatal(err)
					}
					text = string(data)
				}
				if strings.HasSuffix(path, ".sample") || info.IsDir() && strings.HasSuffix(path, "/.git/hooks") ||
					leadsInside(a, path, text) {
					continue // git acts on none of them
				}
				asMade := info.IsDir() || strings.HasSuffix(path, ".sample") || !strings.Contains(text, "evil") &&
					!strings.Contains(text, "../e") && !strings.Contains(text, "/tmp/x") && info.Mode().IsRegular() && !strings.HasSuffix(path, ".envrc")
				if fresh := top == "n" || top == "w" || strings.Contains(path, "worktrees/w/") || strings.Contains(path, ".git/modules") ||
					info.IsDir() && (strings.Contains(path, "/.git/") || strings.HasSuffix(path, "/.git") || strings.HasSuffix(path, "/.github")); fresh && asMade {
					continue
				}
				if info.IsDir() {
					lines = append(lines, path)
					continue
				}
				lines = append(lines, fmt.Sprintf("%s %v %d %x", path, info.Mode(), info.ModTime().Unix(), clitest.Checksum([]byte(text))))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// leadsInside reports whether a file leads git to a git directory or a work tree in the workspace.
func leadsInside(a *clitest.Agent, path, text string) bool {
	to := strings.TrimSpace(strings.TrimPrefix(text, "gitdir: "))
	switch filepath.Base(path) {
	case ".git", "gitdir", "commondir":
		return text == "" && filepath.Base(path) == ".git" || to == "../.." || strings.HasPrefix(to, a.Workspace+"/")
	}
	return false
}

// long has the test run the attacks where nothing is protected, too.
var long bool

// Nothing that a command tries changes what is protected; most of it does where nothing is.
func TestCommandsCannotChangeProtectedFiles(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ isolated, protected bool }{{true, true}, {false, true}, {false, false}} {
		if !long && !how.protected {
			continue // this checks the attacks
		}
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			a, calls := protectedAgent(t, how.isolated, how.protected, attacks...)
			before, idle := danger(a), []string{}
			ask := a.StartBatch()
			for i, attack := range attacks {
				r := ask(calls[i])
				after := danger(a)
				if after == before {
					if !how.protected {
						idle = append(idle, attack)
					}
					a.RunBashDirectly("[ -e sub ] || mv n sub 2>/dev/null || mv s2 sub; [ ! -e n ] || chmod -R u+rwX n; rm -rf n w m d dd* c l gh 'x (deleted)' 'd (deleted)' .git/modules e/g e/h e/old .git/worktrees/w .git/refs/heads/w; find . -name '*.put-aside*' -prune -exec rm -rf {} +; rm -rf .github")
					continue
				}
				if how.protected {
					t.Errorf("%s: %v %s\n%s", attack, r.Error, r.Text, cmp.Diff(before, after))
				}
				a.RunBashDirectly("shopt -s dotglob; chmod -R u+rwX .; rm -rf *; cp -a ../kept/. .")
				before = danger(a)
			}
			if len(idle) > len(attacks)/10 {
				t.Errorf("%d of %d attacks do nothing where nothing is protected:\n%s", len(idle), len(attacks), strings.Join(idle, "\n"))
			}
		})
	}
}

// What others have got wrong: there are no placeholders, not even of a host that was killed; a first command is as
// confined as any; what comes later is protected as well.
func TestProtectionLeavesNoPlaceholders(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
	a.RunBashDirectly("echo x > file")
	before := a.SnapshotWorkspace()
	host := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "call", "exec", "command=git status; touch ready; sleep 60")
	host.Env = a.Env
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the command runs", func() bool {
		_, err := os.Stat(filepath.Join(a.Workspace, "ready"))
		return err == nil
	})
	_ = host.Process.Kill()
	_ = host.Wait()
	a.RunBashDirectly("rm ready; touch -r file .")
	delete(before, "")
	after := a.SnapshotWorkspace()
	delete(after, "")
	if diff := clitest.DiffSnapshots(before, after); diff != "" {
		t.Errorf("after a host was killed:\n%s", diff)
	}
	for _, stray := range []string{"/tmp/.git", "/.git", filepath.Join(a.Home, ".git")} {
		if _, err := os.Lstat(stray); err == nil {
			t.Errorf("%s is there", stray)
		}
	}
	a.RunBashDirectly("echo 'echo x > .envrc' > s.sh")
	first := a.RunBatch(clitest.NewExecCall("bash s.sh"))[0]
	if _, err := os.Lstat(filepath.Join(a.Workspace, ".envrc")); err == nil || len(first.Structured.Protected) == 0 {
		t.Errorf("a first command: %v, %s", err, first.Text)
	}
	a.RunBashDirectly("git init -q .; echo 'git config core.fsmonitor evil; ls .git/config.lock' > s.sh")
	later := a.RunBatch(clitest.NewExecCall("bash s.sh"))[0]
	if config := git(a, "config", "--list", "--local"); strings.Contains(config, "evil") || later.OK {
		t.Errorf("a repository that came later: %s, %s", config, later.Text)
	}
}
