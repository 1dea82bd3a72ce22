package protected_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// reported are attacks and accidents that broke undo or protection once: a command of the agent's and a change of the
// user's before undo. Files of the user's are those below mine and those that end in .mine.
var reported = map[string]struct {
	setup, command, user string
	protected            string   // a path that the result names; "?" if it may name any
	named                []string // paths that undo names
	entryPoints          []string // files of new repositories that the result names
}{
	"directory_named_deleted": {
		setup:     "echo 1 > f; echo 2 > g; mkdir -p .github/workflows; echo good > .github/workflows/ci.yml; echo ../.github/workflows/ci.yml > e",
		command:   `mkdir "x (deleted)"; cd "x (deleted)"; echo bad > ../f; rm ../g; echo evil > $(cat ../e)`,
		protected: ".github/workflows",
	},
	"freed_inodes": {
		setup:   "for i in $(seq 30); do echo $i > a$i; ln a$i b$i; done; mkdir mine",
		command: "rm a* b*",
		user:    "for i in $(seq 60); do echo mine > mine/u$i; done",
	},
	"user_edits_after_command": {
		setup:   "echo 1 > f.mine; echo 2 > g; mkdir mine",
		command: "echo x > f.mine; echo x > g; mkdir D; echo y > D/y",
		user:    "echo mine > f.mine; echo mine > D/z.mine; mv g mine/g",
		named:   []string{"f.mine", "D", "g"},
	},
	"failed_tmpfile": {
		setup: "echo 1 > f; echo 2 > g",
		command: python + `
os.truncate("f", 0); attempt(lambda: os.open("none", os.O_TMPFILE | os.O_RDWR)); os.truncate("g", 1); attempt(lambda: os.open("f", os.O_TMPFILE | os.O_RDWR))`,
	},
	"history_made_old_and_unreadable": {
		setup: "mkdir d; echo 1 > d/f; echo 2 > g",
		command: python + `
store = os.environ["HOME"].split("/runtime-user-env")[0] + "/state/takeback"
os.unlink("d/f")
def spoil(path):
    attempt(lambda: os.utime(path, (0, 0))); attempt(lambda: os.chmod(path, 0)); attempt(lambda: os.setxattr(path, b"user.x", b"1"))
    try: fd = os.open(path, os.O_PATH)
    except OSError: return
    attempt(lambda: os.chmod("/proc/self/fd/%d" % fd, 0)); os.close(fd)
for path in store, store + "/main", store + "/main/latest", os.path.dirname(store): spoil(path)
os.unlink("g")`,
	},
	"special_bits_cleared_by_write": {
		setup:   "echo 1 > f; chmod 6755 f; sync",
		command: "echo z >> f",
		named:   []string{"f"}, // a sandbox can't set these bits
	},
	"whiteout": {
		setup:   "echo 1 > f; echo 2 > g",
		command: `python3 -c 'import ctypes; r = ctypes.CDLL(None).renameat2; r(-100, b"f", -100, b"g", 4); r(-100, b"f", -100, b"new", 5)'; echo 3 >> f`,
	},
	"git_directory_unmade": {
		setup: `git init -q --bare r.git; printf '#!/bin/sh\n' > r.git/hooks/pre-receive; git init -q --bare s.git
			git init -q --separate-git-dir=store proj; git -C proj config core.pager less
			echo 'rm -r r.git/refs; mv r.git/objects o; rm -r store/refs s.git; echo evil > r.git/hooks/update; git config -f store/config core.pager evil' > do.sh`,
		command:   "sh do.sh",
		protected: "r.git/hooks",
	},
	"repository_made_by_rename": {
		command:     "mkdir -p r/x; echo evil > r/x/hgrc; mv r/x r/.hg; mkdir -p s/.jj s/x; echo evil > s/x/config.toml; mv s/x s/.jj/repo",
		entryPoints: []string{"r/.hg/hgrc", "s/.jj/repo/config.toml"},
	},
	"refs_of_git_removed": {
		setup:   "git init -q; echo 1 > f; git add f; git commit -qm one; git branch side",
		command: "git pack-refs --all; rm -r .git/refs",
	},
	"rebase_of_user_edited": {
		setup: `git init -q -b main; git config user.name u; git config user.email u@x; echo 1 > f; git add f; git commit -qm one; git checkout -qb side
			echo 2 > f; git commit -qam two; git checkout -q main; echo 3 > f; git commit -qam three; git rebase -q side || :
			printf 'cd .git/rebase-merge; echo "exec touch evil" >> git-rebase-todo\necho ../evil > strategy; echo 1 > ../../new\n' > do.sh`,
		command:   "bash do.sh",
		protected: ".git/rebase-merge",
	},
	"unreadable_directory": {
		setup:   "mkdir D; echo 1 > D/f; chmod 0300 D",
		command: "echo 2 > D/f; echo new > D/new; echo 3 > g",
		named:   []string{"D"},
	},
	"mode_of_shared_directory": {
		setup:   "mkdir D E; echo 1 > D/f",
		command: "chmod 700 D E; echo 2 > D/f",
		user:    "echo mine > D/x.mine; echo mine > E/x.mine",
	},
	"closed_by_command": {
		setup:   "mkdir D; echo 1 > D/f",
		command: "echo 2 > D/f; echo new > D/new; chmod 0300 D; echo later > D/later",
	},
	"pull_of_protected_file": {
		setup: `export GIT_TEMPLATE_DIR=; git init -q -b main ../origin; cd ../origin; mkdir -p .github/workflows; echo good > .github/workflows/ci.yml; echo 1 > f
			git add .; git commit -qm one; cd ../workspace; git clone -q ../origin .; git config gc.auto 0; cd ../origin; echo 2 > f; echo new > .github/workflows/ci.yml
			echo g > g; git add .; git commit -qm two; cd ../workspace; git fetch -q`,
		command:   "git merge --ff-only origin/main",
		protected: ".github/workflows",
	},
	"exchanged_parent": {
		setup: "mkdir -p d/e .github/workflows; echo 1 > d/e/f; echo good > .github/workflows/ci.yml; mkdir -p gh/workflows; echo evil > gh/workflows/ci.yml",
		command: `python3 -c 'import ctypes; r = ctypes.CDLL(None).renameat2; r(-100, b"gh", -100, b".github", 2); r(-100, b"d", -100, b"gh", 2)'` +
			"; echo 2 > gh/e/f",
		protected: ".github/workflows",
	},
	"written_by_descriptor_of_deleted_name": {
		setup: "echo 1 > f; echo 2 > g; chmod 600 g",
		command: python + `
for name in "f", "g":
    os.link(name, "n"); fd = os.open("n", os.O_RDONLY); os.unlink("n"); path = "/proc/self/fd/%d" % fd
    for change in (lambda: open(path, "w").write("evil"), lambda: os.fchmod(fd, 0o777), lambda: os.utime(fd, (1, 1)), lambda: os.setxattr(fd, b"user.x", b"1"),
                   lambda: os.truncate(path, 0), lambda: os.chmod(path, 0o777), lambda: os.link(path, "alias", follow_symlinks=True)):
        attempt(change)`,
		protected: "a path that cannot be inspected",
	},
	"linked_to_home": {
		setup: "echo 1 > f",
		command: python + `
for to in "HOME", "TMPDIR":
    name = os.environ[to] + "/n"; attempt(lambda: os.link("f", name)); attempt(lambda: open(name, "w").write("evil")); attempt(lambda: os.chmod(name, 0o777))`,
	},
	"replaced_directory_descriptor": {
		setup: "git init -q a; mkdir -p .github/workflows",
		command: python + `
import threading
pipe = os.pipe()[0]; hooks = os.open("a/.git/hooks", os.O_RDONLY); ended = False
def flip():
    while not ended: os.dup2(pipe, 9); os.dup2(hooks, 9)
thread = threading.Thread(target=flip); thread.start()
for n in range(2000):
    open("evil", "w").write("evil")
    attempt(lambda: os.rename("evil", "/proc/self/fd/9/pre-commit")); attempt(lambda: os.mkdir("/proc/self/fd/9/D"))
ended = True; thread.join()`,
		protected: "?",
	},
	"open_file_of_other_owner": {
		setup:   "echo 1 > f; echo 2 > g; chmod 666 f; chown 33 f || true",
		command: "exec 3>f; echo agent >&3; echo x > g; echo more >&3; truncate -s 3 g",
		named:   []string{"f"}, // a sandbox can't set its owner
	},
	"fifo_with_time_set": {
		setup:   "echo 1 > f",
		command: python + `os.unlink("f"); os.mkfifo("f"); fd = os.open("f", os.O_RDWR); os.utime(fd, (1, 1)); os.fchmod(fd, 0o640)`,
	},
	"made_unreadable": {
		setup:   "echo 1 > f; echo 2 > g; mkdir d; echo 3 > d/h",
		command: "chmod 0 f; rm -f f; chmod 200 g; echo x > g; chmod 644 g; chmod 300 d; rm -f d/h; chmod 755 d",
	},
	"write_lease": {
		setup: "echo 1 > f; echo 2 > g; mkdir d; echo 3 > d/h",
		command: python + `
import fcntl, signal
signal.signal(signal.SIGIO, signal.SIG_IGN); held = []
for name in ["f", "g", "d/h"]:
    held.append(os.open(name, os.O_RDONLY)); attempt(lambda: fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK))
os.unlink("f"); os.unlink("d/h"); os.rmdir("d"); open("x", "w").write("evil"); os.rename("x", "g")`,
	},
	"opened_after_lease": {
		setup: "git init -q a; cp a/.git/config evil; printf '[core]\n\tfsmonitor = false\n' >> evil",
		command: python + `
import fcntl, signal, threading
signal.signal(signal.SIGIO, signal.SIG_IGN); good = open("a/.git/config").read()
for n in range(20):
    open("f", "w").write(good); lease = os.open("f", os.O_RDONLY); fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_RDLCK); got = []
    def write():
        try: got.append(os.open("f", os.O_WRONLY))
        except OSError: pass
    thread = threading.Thread(target=write); thread.start()
    fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_UNLCK); attempt(lambda: os.rename("f", "a/.git/config")); thread.join(); os.close(lease)
    for fd in got: os.write(fd, open("evil", "rb").read()); os.close(fd)`,
		protected: "?",
	},
}

// python begins a program whose attempts may fail.
const python = `cat > a.py <<'P'
import os
def attempt(f):
    try: f()
    except OSError: pass
exec(open("b.py").read())
P
cat > b.py <<'P'
`

func TestReportedUndoCases(t *testing.T) {
	t.Parallel()
	for name, c := range reported {
		for _, isolated := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/isolated=%v", name, isolated), func(t *testing.T) {
				t.Parallel()
				a := clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
				a.RunBashDirectly(c.setup)
				before, call := a.SnapshotWorkspace(), a.StartBatch()
				command := c.command
				if strings.HasPrefix(command, python) {
					command += "\nP\npython3 a.py"
				}
				ran := call(clitest.NewExecCall(command))
				got := strings.Join(ran.Structured.Protected, " ")
				if c.protected != "?" && (!strings.HasPrefix(got, c.protected) || c.protected == "" && got != "") {
					t.Errorf("protected: %q; want %q", got, c.protected)
				}
				if !slices.Equal(ran.Structured.EntryPoints, c.entryPoints) {
					t.Errorf("entry points: %q; want %q", ran.Structured.EntryPoints, c.entryPoints)
				}
				a.RunBashDirectly(c.user)
				left := a.SnapshotWorkspace()
				undone := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
				said := strings.Join(ran.Structured.NotCovered, "\n")
				for _, conflict := range undone.Structured.Conflicts {
					said += "\n" + conflict.Path
				}
				if !undone.OK && ran.Structured.Undone != true {
					t.Error(undone.Error)
				}
				now := a.SnapshotWorkspace()
				isNamed := func(path string) bool {
					return slices.ContainsFunc(c.named, func(name string) bool {
						return strings.Contains(said, filepath.Join(a.Workspace, name)) && strings.HasPrefix(path, "/"+name)
					})
				}
				for path := range unite(before, left, now) {
					users := strings.HasPrefix(path, "/mine") || strings.HasSuffix(path, ".mine")
					switch {
					case path == "" || strings.HasPrefix(now[path], "d") && strings.Fields(now[path])[0] == strings.Fields(before[path] + " -")[0]:
					case users && now[path] != left[path], !users && now[path] != before[path] && !isNamed(path):
						t.Errorf("%s: before %s, left %s, now %s; named %q", path, before[path], left[path], now[path], said)
					}
				}
			})
		}
	}
}

// unite returns the paths of snapshots.
func unite(snapshots ...map[string]string) map[string]bool {
	all := map[string]bool{}
	for _, snapshot := range snapshots {
		for path := range snapshot {
			all[path] = true
		}
	}
	return all
}

// The size of an operation in the undo history counts attributes of files, too.
func TestUndoSizeCountsAttributes(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, false, "PICOCLAW_TOOLS_UNDO_MAX_SIZE=8MB")
	a.RunBashDirectly(`python3 -c 'import os
for i in range(2450): open("f%d" % i, "w").close(); os.setxattr("f%d" % i, "user.x", os.urandom(3500))'`)
	ran := a.RunBatch(clitest.NewExecCall("chmod 600 f*"))[0]
	var size int64
	err := filepath.WalkDir(a.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == a.Workspace {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && strings.Contains(path, "undo") && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if err != nil || size > 8<<20 || len(ran.Structured.NotCovered) == 0 {
		t.Errorf("the history has %d bytes, not covered %q: %v", size, ran.Structured.NotCovered, err)
	}
}

// A command does not change the priority of the user's other processes.
func TestCommandsKeepPrioritiesOfOthers(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		a := clitest.NewAgent(t, isolated)
		a.RunBatch(clitest.NewExecCall(`python3 -c 'import os
for kind, who in ((os.PRIO_USER, 0), (os.PRIO_USER, os.getuid()), (os.PRIO_PGRP, os.getppid())):
    try: os.setpriority(kind, who, 7)
    except OSError: pass'`))
		if got, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); got != 20 || err != nil { // the kernel's number for 0
			t.Errorf("isolated=%v: priority %d, %v", isolated, got, err)
		}
	}
}
