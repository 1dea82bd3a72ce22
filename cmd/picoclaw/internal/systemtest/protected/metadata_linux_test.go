package protected_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// accessList is an access control list that gives another user the given bits.
func accessList(user uint32, bits, mask byte) []byte {
	list := []byte{2, 0, 0, 0}
	for _, entry := range [][3]uint32{{1, 7, ^uint32(0)}, {2, uint32(bits), user}, {4, 4, ^uint32(0)}, {16, uint32(mask), ^uint32(0)}, {32, 4, ^uint32(0)}} {
		list = append(list, byte(entry[0]), 0, byte(entry[1]), 0, byte(entry[2]), byte(entry[2]>>8), byte(entry[2]>>16), byte(entry[2]>>24))
	}
	return list
}

// Undo keeps access control lists, owners and special bits, which a sandbox may not set, or names them. It never allows
// more than before.
func TestUndoRestoresOrNamesMetadata(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			call := a.StartBatch()
			exec := clitest.NewExecCall
			for name, c := range map[string]struct {
				call  clitest.ToolCall
				exact bool
			}{
				"append":         {exec("echo 2 >> list"), true},
				"overwrite":      {exec("echo 22 > deny; echo 2 > list"), true},
				"chmod":          {exec("chmod 600 list; chmod 700 dir"), true},
				"rename":         {exec("mv list moved"), true},
				"touch":          {exec("touch -d 2001-01-01 list deny dir"), true},
				"replace":        {exec("sed -i s/1/2/ list deny"), false},
				"delete":         {exec("rm list deny sticky"), false},
				"delete_tree":    {exec("rm -rf dir special"), false},
				"rename_over":    {exec("echo 1 > new; mv new list; mv deny list"), false},
				"remove_list":    {exec("python3 -c 'import os; os.removexattr(\"list\", \"system.posix_acl_access\")'"), false},
				"special_bits":   {exec("chmod g-s,-t special; chmod 700 special; echo 2 >> sticky"), false},
				"tool_rm":        {clitest.ToolCall{Tool: "rm", Args: map[string]any{"path": "deny"}}, false},
				"tool_rm_tree":   {clitest.ToolCall{Tool: "rm", Args: map[string]any{"path": "special", "recursive": true}}, false},
				"tool_rm_sticky": {clitest.ToolCall{Tool: "rm", Args: map[string]any{"path": "sticky"}}, true},
			} {
				a.RunBashDirectly("rm -rf ./*; echo 1 | tee list deny sticky > /dev/null; mkdir -p dir/in special/in; echo 1 > dir/f; chmod 1644 sticky; chmod 3775 special; chmod 2770 special/in; sync")
				for path, list := range map[string][]byte{"list": accessList(5, 5, 7), "deny": accessList(6, 0, 4), "dir": accessList(7, 7, 7), "dir/in": accessList(8, 1, 5)} {
					if err := unix.Setxattr(filepath.Join(a.Workspace, path), workspace.AccessList, list, 0); err != nil {
						t.Fatal("set an access control list: ", err)
					}
				}
				if err := unix.Setxattr(filepath.Join(a.Workspace, "dir"), "system.posix_acl_default", accessList(9, 4, 4), 0); err != nil {
					t.Fatal(err)
				}
				modes := map[string]os.FileMode{}
				before := a.SnapshotWorkspace()
				for path := range before {
					info, err := os.Lstat(a.Workspace + path)
					if err != nil {
						t.Fatal(err)
					}
					modes[path] = info.Mode()
				}
				if r := call(c.call); !r.OK {
					t.Fatalf("%s: %v", name, r.Error)
				}
				r := call(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})
				now := a.SnapshotWorkspace()
				if diff := clitest.DiffSnapshots(before, now); !r.OK || c.exact && diff != "" {
					t.Errorf("%s: %v\n%s\n%s", name, r.Error, r.Text, diff)
				}
				for path, was := range before {
					info, err := os.Lstat(a.Workspace + path)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					if now[path] != was && !strings.Contains(r.Text, a.Workspace+path+" (") {
						t.Errorf("%s: %s is not named: %s\n%s", name, path, r.Text, clitest.DiffSnapshots(before, now))
					}
					if info.Mode().Perm()&^modes[path].Perm() != 0 || path == "/deny" && info.Mode().Perm()&0o077 != 0 && !strings.Contains(now[path], "posix_acl_access") {
						t.Errorf("%s: %s: %v before, now %v", name, path, modes[path], info.Mode())
					}
				}
			}
		})
	}
}

// A repository whose objects are links to those of another one survives a command that picoclaw undoes because git was
// refused a change.
func TestUndoOfRefusedGitKeepsLinkedObjects(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
	a.RunBashDirectly(`git init -q up; cd up; for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm $i; done; cd ..; git clone -q up cl; git clone -q up cl2`)
	before := a.SnapshotWorkspace()
	for _, line := range []string{"cd cl; git gc -q; git config core.sshCommand x", "cd cl2; git repack -adq; git prune-packed; git config alias.x '!y'"} {
		r := a.RunBatch(clitest.NewExecCall(line))[0]
		out, err := exec.Command("git", "-C", filepath.Join(a.Workspace, line[3:strings.Index(line, ";")]), "fsck", "--full", "--strict").CombinedOutput()
		if err != nil || len(r.Structured.Protected) == 0 {
			t.Errorf("%s: %v, %v\n%s\n%s", line, err, r.Structured.Protected, out, r.Text)
		}
		for path, text := range a.SnapshotWorkspace() {
			if !sameFile(before[path], text) && !strings.Contains(text, "same as") && !strings.Contains(r.Text, path) {
				t.Fatalf("%s: %s: %s, now %s\n%.2000s", line, path, before[path], text, r.Text)
			}
		}
	}
}

// A directory that now belongs to another user is named, because undo can't change it.
func TestUndoNamesDirectoryOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	t.Parallel()
	a := clitest.NewAgent(t, true)
	dir := filepath.Join(a.Workspace, "d")
	a.RunBashDirectly("mkdir d; echo 1 > f")
	if r := a.RunBatch(clitest.NewExecCall("chmod 700 d; echo 2 > f"))[0]; !r.OK {
		t.Fatal(r.Error)
	}
	if err := os.Chown(dir, 5, 5); err != nil {
		t.Fatal(err)
	}
	r := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
	if !r.OK || len(r.Structured.Conflicts) != 1 || r.Structured.Conflicts[0].Path != dir {
		t.Errorf("%v, %v: %s", r.Error, r.Structured.Conflicts, r.Text)
	}
}

// Undo works after a command took the owner's permissions of the workspace away.
func TestUndoReopensWorkspace(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		a := clitest.NewAgent(t, isolated)
		for _, mode := range []string{"600", "000", "300"} {
			a.RunBashDirectly("chmod 755 .; echo 1 > f; sync")
			before := a.SnapshotWorkspace()
			r := a.RunBatch(clitest.NewExecCall("echo 2 > f; chmod " + mode + " ."))[0]
			if isNamed := strings.Contains(r.Text, a.Workspace+" ("); !r.OK || isNamed != (isolated || os.Getuid() != 0) { // root needs no permissions
				t.Errorf("isolated %v, mode %s: %v %s", isolated, mode, r.Error, r.Text)
			}
			r = a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
			if diff := clitest.DiffSnapshots(before, a.SnapshotWorkspace()); !r.OK || diff != "" {
				t.Errorf("isolated %v, mode %s: %v\n%s", isolated, mode, r.Error, diff)
			}
		}
	}
}

// A directory that a command moves into one that its owner can't list comes back.
func TestUndoFindsDirectoryMovedOutOfSight(t *testing.T) {
	t.Parallel()
	a := clitest.NewAgent(t, true) // root has no capabilities there
	a.RunBashDirectly("mkdir -p dir closed; echo 1 > dir/f; chmod 300 closed")
	r := a.RunBatch(clitest.NewExecCall("mv -T dir closed/dir"))[0]
	if !r.OK {
		t.Errorf("%v %s", r.Error, r.Text)
	}
	r = a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
	if text, err := os.ReadFile(filepath.Join(a.Workspace, "dir", "f")); !r.OK || string(text) != "1\n" {
		t.Errorf("%v, %v: %s", r.Error, err, r.Text)
	}
	info, err := os.Stat(filepath.Join(a.Workspace, "closed"))
	if err != nil || info.Mode().Perm() != 0o300 {
		t.Errorf("the closed directory: %v, %v", info, err)
	}
	if err := os.Chmod(filepath.Join(a.Workspace, "closed"), 0o700); err != nil {
		t.Error(err)
	}
}
