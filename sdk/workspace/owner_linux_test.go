package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// ownerVariable makes this program a process of a user namespace that has no number for others.
const ownerVariable = "PICOCLAW_TEST_OWNER"

// somebody is the owner of files that nobody here can give a file to.
const somebody = 1234

// oneUser is a user namespace that knows one user.
func oneUser() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// giveAway makes a file that belongs to somebody.
func giveAway(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chown(path, somebody, somebody),
		os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// Who can't give a file away writes it in place, if he may write it at all, and otherwise leaves it alone. Only root
// can make files of others to try it with.
func TestFilesOfOthersStayTheirs(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	dir := t.TempDir()
	giveAway(t, filepath.Join(dir, "open"), "a long old text", 0o666)
	giveAway(t, filepath.Join(dir, "target"), "a long old text", 0o666)
	giveAway(t, filepath.Join(dir, "closed"), "old", 0o644)
	giveAway(t, filepath.Join(dir, "named"), "old", 0o666)
	if err := os.Link(filepath.Join(dir, "named"), filepath.Join(dir, "twice")); err != nil {
		t.Fatal(err)
	}
	before := map[string]os.FileInfo{}
	for _, name := range []string{"open", "target", "closed", "named"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = info
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"="+dir, stateVariable+"="+t.TempDir())
	cmd.SysProcAttr = oneUser()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, was := range before {
		is, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !os.SameFile(was, is) || is.Mode() != was.Mode() || is.Sys().(*syscall.Stat_t).Uid != somebody {
			t.Errorf("%s is another file, or somebody else's: %v, %v", name, is, err)
		}
	}
}

// changeOthers is what the process without a number for others does.
func changeOthers(dir, state string) error {
	w, err := OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, Options{StateDir: state})
	if err != nil {
		return err
	}
	if err := errors.Join(w.WriteFile("open", []byte("new")), w.WriteFile("mine", []byte("mine")),
		w.CopyTree("mine", "target", TransferOptions{Overwrite: true})); err != nil {
		return err
	}
	for _, name := range []string{"closed", "named"} {
		if err := w.WriteFile(name, []byte("new")); !errors.Is(err, Foreign) {
			return fmt.Errorf("%s was not refused: %w", name, err)
		}
		if err := w.CopyTree("mine", name, TransferOptions{Overwrite: true}); !errors.Is(err, Foreign) {
			return fmt.Errorf("a copy onto %s was not refused: %w", name, err)
		}
	}
	// Of several, one that fails takes those back that were written in place.
	if err := w.ApplyChanges(nil, becoming("open", "newer"), becoming("named", "newer")); !errors.Is(err, Foreign) {
		return fmt.Errorf("several were not refused: %w", err)
	}
	for name, want := range map[string]string{"open": "new", "target": "mine", "closed": "old", "named": "old",
		"twice": "old"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			return fmt.Errorf("%s has %q in it, not %q: %w", name, got, want, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		return fmt.Errorf("there are %v: %w", entries, err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		return fmt.Errorf("in the state directory there are %v: %w", left, err)
	}
	return nil
}

// ownedKills is how often a process that writes in place is killed.
const ownedKills = 200

// A process that is killed while it writes in place leaves a file that is old or new as soon as the next one has
// begun, and never an owner that is another.
func TestNextProcessCompletesKilledWriteInPlace(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "sub", "file")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	giveAway(t, file, "a", 0o666)
	torn := 0
	for i := range ownedKills {
		killWriter(t, dir, state, instant(), oneUser())
		if left, _ := filepath.Glob(filepath.Join(state, intentPrefix+"*")); len(left) > 0 {
			torn++
		}
		w, err := OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, Options{StateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil || len(data) == 0 || len(bytes.Trim(data, string(data[:1]))) > 0 {
			t.Fatalf("after kill %d the file is neither old nor new: %d bytes, %v", i, len(data), err)
		}
		var is unix.Stat_t
		if err := unix.Stat(file, &is); err != nil || is.Uid != somebody {
			t.Fatalf("after kill %d the file is %d's, %v", i, is.Uid, err)
		}
	}
	if torn == 0 {
		t.Error("no kill came while there was something to finish, so nothing was shown")
	}
	t.Logf("%d of %d kills left something to finish", torn, ownedKills)
	if left := litter(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
