package protected_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// ownRepositories are repositories of a user who has hooks and settings of all kinds.
const ownRepositories = `
export GIT_TEMPLATE_DIR=
git init -q -b main .; echo 1 > f; git add f; git commit -qm one; git branch side
git init -q -b main sub; echo 1 > sub/f; git -C sub add f; git -C sub commit -qm one
git clone -q --bare sub bare.git; git worktree add -q wt
git -c protocol.file.allow=always submodule --quiet add ./sub mod; git commit -qm mod
for d in .git sub/.git bare.git .git/modules/mod .git/worktrees/wt; do
	mkdir -p $d/hooks; printf '#!/bin/sh\ntrue\n' > $d/hooks/post-commit; chmod +x $d/hooks/post-commit; echo own > $d/extra
done
for d in .git sub/.git bare.git .git/modules/mod; do git config -f $d/config alias.x '!true'; git config -f $d/config include.path extra; done
mkdir -p e/hooks e/git/objects e/git/refs; printf '#!/bin/sh\nevil\n' > e/hooks/post-commit; cp sub/.git/config e/git/config
mkdir e/same; cp -r e/git/. e/same; git config -f e/git/config alias.y '!evil'
mkdir .vscode; echo '{}' > .vscode/tasks.json; echo own > .envrc; mkdir -p sub/.vscode; echo '{}' > sub/.vscode/tasks.json
`

// A change that is refused leaves the user's own hooks and settings where they are, also at the end of the command.
func TestRefusedChangeLeavesOwnEntryPoints(t *testing.T) {
	t.Parallel()
	const exchange = `python3 -c 'import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)' `
	var scripts []string
	gits, tops := []string{".git"}, []string{"."}
	if long {
		gits = append(gits, "bare.git", "sub/.git", ".git/modules/mod", ".git/worktrees/wt")
		tops = append(tops, "sub", "wt", "mod")
	}
	for _, git := range gits {
		for _, script := range []string{
			"echo x > $G/HEAD.new; mv $G/HEAD.new $G/HEAD", "rm $G/HEAD; echo ref: refs/heads/main > $G/HEAD", "cp $G/HEAD h; mv h $G/HEAD",
			"mv $G/refs r; mkdir $G/refs; cp -r r/. $G/refs", "mv $G/objects $G/o; mv $G/o $G/objects", exchange + "$G/hooks e/hooks", exchange + "$G/config e/git/config", exchange + "$G/config e/same/config; " + exchange + "$G/config e/same/config",
			"mv $G x; mv x $G", exchange + "$G e/git", "mkdir x; mv -T $G x/y; mv x/y $G", "cp e/git/config c; mv c $G/config", "mv $G/config c; mv c $G/config",
			"rm -rf $G/hooks; cp -r e/hooks $G", "mv $G/hooks h; mv h $G/hooks", "echo ref: refs/heads/x > $G/HEAD", "ln $G/config c; mv c $G/config", "touch $G/commondir; rm -f $G/commondir",
			"cp -a $G copy; mv copy/config $G/config", "rm -r $G/refs; mkdir $G/refs", "mv $G/HEAD h; mv e/git $G/git", "for i in 1 2 3; do cp $G/HEAD $G/HEAD.lock; mv $G/HEAD.lock $G/HEAD; done",
		} {
			scripts = append(scripts, "G="+git+"; "+script)
		}
	}
	for _, top := range tops {
		for _, script := range []string{"mv $T/.git x; mv x $T/.git", "rm -f $T/.git; echo gitdir: e > $T/.git", "cp $T/.git x; mv x $T/.git", "mv $T x; mv x $T",
			"mv $T/.vscode v; mv v $T/.vscode", exchange + "$T/.vscode e", "mkdir x; " + exchange + "$T x; " + exchange + "$T x",
			"git -C $T checkout -q -b y$RANDOM; git -C $T stash -q; git -C $T gc -q"} {
			scripts = append(scripts, "T="+top+"; "+script)
		}
	}
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
			a.RunBashDirectly(ownRepositories + "cp -a . ../kept")
			before, call := a.SnapshotWorkspace(), a.StartBatch()
			for _, script := range scripts {
				r := call(clitest.NewExecCall("s() { " + script + "; }; s"))
				after := a.SnapshotWorkspace()
				if diff := clitest.DiffSnapshots(onlyEntryPoints(before), onlyEntryPoints(after)); diff != "" || len(r.Structured.PutAside) > 0 {
					t.Errorf("%s: %v %q\n%s", script, r.Structured.Protected, r.Structured.PutAside, diff)
				}
				if maps.Equal(before, after) {
					continue
				}
				a.RunBashDirectly("shopt -s dotglob; chmod -R u+rwX .; rm -rf *; cp -a ../kept/. .")
			}
		})
	}
}

// A git command that is refused a change is undone whole, also in a sandbox, where git directories are mounts.
func TestRefusedGitCommandIsUndone(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a, calls := protectedAgent(t, isolated, true, "echo 2 > f; echo new > g; git add .; git commit -qm two; git config alias.y '!evil'",
				"cd sub; echo 2 > f; git commit -qam two; git gc -q; git config alias.y '!evil'", "git checkout -q side; git stash; git branch -D main; git config alias.y '!evil'",
				"cd old; echo 2 > f; git commit -qam two; git config alias.y '!evil'", "git worktree add -q w; rm -f .git/hooks/* || true; git config alias.y '!evil'")
			call := a.StartBatch()
			for i, c := range calls {
				before := a.SnapshotWorkspace()
				r := call(c)
				if diff := clitest.DiffSnapshots(before, a.SnapshotWorkspace()); diff != "" || r.OK || r.Structured.Undone != true {
					t.Errorf("command %d: %v %s\n%s", i, r.Structured.Undone, r.Text, diff)
				}
			}
		})
	}
}

func TestForcedUndoSparesOthersProtectedFiles(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
	a.RunBashDirectly("git init -q src; cd src; mkdir .vscode; echo agent | tee .envrc .husky > .vscode/tasks.json; git add -A; git commit -qm one")
	call := a.StartBatch()
	lastChange := func() string {
		return strings.Fields(call(clitest.ToolCall{Tool: "history", Args: map[string]any{}}).Text)[0]
	}
	call(clitest.NewExecCall("git clone -q src cl"))
	cloned := lastChange()
	a.RunBashDirectly("echo user | tee cl/.envrc cl/.husky > cl/.vscode/tasks.json; cp -a cl ../edited")
	call(clitest.ToolCall{Tool: "undo", Args: map[string]any{"id": cloned, "force": true}})
	a.RunBashDirectly("for f in .envrc .husky .vscode/tasks.json; do cmp ../edited/$f cl/$f; done")
	a.RunBashDirectly("rm -rf cl")
	call(clitest.NewExecCall("git clone -q src cl"))
	call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
	undone := lastChange()
	a.RunBashDirectly("test ! -e cl/.envrc; cp -a ../edited cl")
	if r := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{"id": undone, "force": true}}); !strings.Contains(r.Text+r.Error.Message, "is protected") {
		t.Errorf("it names no protected file: %s%s", r.Text, r.Error.Message)
	}
	a.RunBashDirectly("for f in .envrc .husky .vscode/tasks.json; do cmp ../edited/$f cl/$f; done")
}

// onlyEntryPoints drops the files that the user's git and editors do not act on, and what moves with the clock.
func onlyEntryPoints(all map[string]string) map[string]string {
	kept := map[string]string{}
	for path, line := range all {
		for _, name := range []string{"/hooks/post-commit", "/config", "/extra", ".vscode/tasks.json", "/.envrc", "/commondir", "put-aside"} {
			if strings.HasSuffix(path, name) && !strings.HasPrefix(path, "/e/") || strings.Contains(path, "put-aside") {
				kept[path] = line
			}
		}
	}
	return kept
}

// Undo does not delete files that a command moves out of a directory in which nobody can look.
func TestUndoKeepsFilesMovedFromHiddenDirectory(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			call := a.StartBatch()
			const exchange = `python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"%s", -100, b"%s", 2)'`
			for _, command := range []string{"mv hidden/file new", "mv hidden/file old", "mv hidden/dir new", "mv hidden/file new; mv new newer",
				"mv hidden/dir new; echo 2 >> new/in", fmt.Sprintf(exchange, "hidden/file", "old"), fmt.Sprintf(exchange, "old", "hidden/file"),
				"mkdir new; mv hidden/file new; echo 2 >> new/file"} {
				a.RunBashDirectly("chmod -R u+rwx .; rm -rf ./*; mkdir -p hidden/dir; echo former > old; echo precious > hidden/file; echo precious > hidden/dir/in; chmod 300 hidden")
				r := call(clitest.NewExecCall(command))
				named := strings.Join(r.Structured.NotCovered, "\n")
				if r = call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}}); !r.OK && r.Error.Code != "conflict" && r.Error.Code != "not_found" {
					t.Errorf("%s: %v", command, r.Error)
				}
				a.RunBashDirectly("chmod -R u+rwx .")
				left, now := 0, a.SnapshotWorkspace()
				for _, line := range now {
					if strings.Contains(line, `"precious\n`) || strings.Contains(line, `"former\n`) {
						left++
					}
				}
				isRestored := strings.Contains(now["/hidden/file"]+now["/old"], "precious") && strings.Contains(now["/old"], "former") && now["/new"] == ""
				if path := a.Workspace + "/"; left != 3 && !(left == 2 && command == "mv hidden/file old") ||
					!isRestored && !strings.Contains(named, path+"new") && !strings.Contains(named, path+"old") {
					t.Errorf("%s: %d of 3 files are left, and named are %q\n%v", command, left, named, now)
				}
			}
		})
	}
}

// A command can't hide changes in directories that it makes unreadable.
func TestResultNamesUnreadableDirectories(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			call := a.StartBatch()
			for _, mode := range []string{"0100", "0111", "0300", "0333"} {
				for _, command := range []string{"rm -rf d/src; echo 1 > d/f", "echo 1 > d/f", "rm d/f", "echo 1 > d/src/a", "mv d/f d/src/f", "chmod 600 d/f"} {
					a.RunBashDirectly("chmod -R u+rwx .; rm -rf ./*; mkdir -p d/src; echo precious | tee d/src/a > d/f")
					before := a.SnapshotWorkspace()
					r := call(clitest.NewExecCall("chmod " + mode + " d; " + command + "; chmod 0755 d"))
					named := strings.Join(r.Structured.NotCovered, "\n")
					u := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
					if diff := clitest.DiffSnapshots(withoutTimesOfDirs(before), withoutTimesOfDirs(a.SnapshotWorkspace())); diff != "" && !strings.Contains(named, a.Workspace+"/d") {
						t.Errorf("%s %s: named %q, undo %v\n%s", mode, command, named, u.Error, diff)
					}
				}
			}
		})
	}
}

// Attributes that could not be read at the first change are read before a later one.
func TestUndoRestoresAttributesOfUnreadableFile(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			at := filepath.Join(a.Workspace, "f")
			if err := os.WriteFile(at, []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(unix.Setxattr(at, "user.k", []byte("before"), 0), os.Chmod(at, 0o200)); err != nil {
				t.Fatal(err)
			}
			before := a.SnapshotWorkspace()["/f"]
			answers := a.RunBatch(clitest.NewExecCall(`python3 -c 'import os; os.chmod("f", 0o600); os.setxattr("f", "user.k", b"after")'`),
				clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
			if got := a.SnapshotWorkspace()["/f"]; !answers[0].OK || !answers[1].OK || got != before {
				t.Errorf("%+v\nbefore %s\nnow    %s", answers, before, got)
			}
		})
	}
}

// A FIFO where a directory or a file is expected is looked at without waiting for its other end.
func TestFIFOsDoNotBlock(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			a := clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true", "PICOCLAW_TOOLS_ALLOW_WRITE_PATHS=^"+outside,
				"PICOCLAW_TOOLS_ALLOW_READ_PATHS=^"+outside)
			if err := unix.Mkfifo(filepath.Join(outside, "fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			calls := []clitest.ToolCall{
				clitest.NewExecCall(`mkdir d; mkfifo fifo; python3 -c '
import os
for to in "fifo/x", "d/y":
    try: os.rename("d", to)
    except OSError as e: print(e.errno)'`),
				clitest.NewExecCall(`mkdir -p r/refs r/objects; mkfifo r/config; echo "ref: refs/heads/main" > r/HEAD; echo "* filter=x" > .gitattributes; ls r`),
			}
			for _, path := range []string{"/fifo", "/fifo/x", "/fifo/x/y"} {
				for _, tool := range []string{"read_file", "list_dir", "write_file"} {
					args := map[string]any{"path": outside + path}
					if tool == "write_file" {
						args["content"] = "x"
					}
					calls = append(calls, clitest.ToolCall{Tool: tool, Args: args})
				}
			}
			for i, answer := range a.RunBatch(calls...) {
				if answer.Error.Code == "timeout" {
					t.Errorf("%v: %v", calls[i], answer.Error)
				}
			}
		})
	}
}

// A command may pass a file that it opened to another command, which then writes without a system call that names the
// file. The first command's result names it, and a forced undo restores it.
func TestFilePassedToAnotherCommandIsKept(t *testing.T) {
	t.Parallel()
	const taker = `import os, socket, time
s = socket.socket(socket.AF_UNIX)
while True:
    try: s.connect("s"); break
    except OSError: time.sleep(0.01)
fd = socket.recv_fds(s, 10, 1)[1][0]; s.send(b"y")
while not os.path.exists("go"): time.sleep(0.01)
os.pwrite(fd, b"evil", 0)
`
	const giver = `import os, socket
fd = os.open("f", os.O_RDWR)
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen(1); c = s.accept()[0]
socket.send_fds(c, [b"x"], [fd]); c.recv(1)
`
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			a.RunBashDirectly("printf mine > f; cat > taker.py <<'P'\n" + taker + "P\ncat > giver.py <<'P'\n" + giver + "P\n")
			call := a.StartBatch()
			session := call(clitest.ToolCall{Tool: "exec", Args: map[string]any{"command": "python3 taker.py", "background": true}}).Structured.Session
			given := call(clitest.NewExecCall("python3 giver.py"))
			if named := strings.Join(given.Structured.NotCovered, "\n"); !strings.Contains(named, filepath.Join(a.Workspace, "f ")) {
				t.Errorf("not covered: %q", named)
			}
			a.RunBashDirectly("touch go")
			for isRunning(call(clitest.ToolCall{Tool: "process", Args: map[string]any{"action": "poll", "session": session, "wait": 10}})) {
			}
			if got, err := os.ReadFile(filepath.Join(a.Workspace, "f")); string(got) != "evil" {
				t.Fatalf("the other command did not write: %q, %v", got, err)
			}
			undone := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{"id": given.Structured.Changes.Undo, "force": true}})
			if got, err := os.ReadFile(filepath.Join(a.Workspace, "f")); string(got) != "mine" {
				t.Errorf("after undo: %q, %v, %+v", got, err, undone)
			}
		})
	}
}
