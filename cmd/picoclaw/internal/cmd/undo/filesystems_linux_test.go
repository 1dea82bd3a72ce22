package undo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// mountWorkspace mounts a file system with the files low and sub/s in place of a workspace.
var mountWorkspace = map[string]string{
	"overlay": `mkdir -p $D/lower/sub $D/upper $D/work && echo user >$D/lower/low && echo user >$D/lower/sub/s &&
		mount -t overlay overlay -o lowerdir=$D/lower,upperdir=$D/upper,workdir=$D/work $W`,
	"overlay of two file systems": `mkdir -p $D/lower $D/over && mount -t tmpfs tmpfs $D/over && mkdir -p $D/lower/sub $D/over/upper $D/over/work &&
		echo user >$D/lower/low && echo user >$D/lower/sub/s &&
		mount -t overlay overlay -o lowerdir=$D/lower,upperdir=$D/over/upper,workdir=$D/over/work $W`,
	"subvolume": `truncate -s 200M $D/disk && mkfs.btrfs -q $D/disk && mount -o loop $D/disk $W && btrfs -q subvolume create $W/sub &&
		echo user >$W/low && echo user >$W/sub/s`,
	"tmpfs in it": `mkdir $W/sub && mount -t tmpfs tmpfs $W/sub && echo user >$W/low && echo user >$W/sub/s`,
}

// Undo restores files on file systems where a file's birth time changes, or where a rename does not reach all directories.
func TestUndoOnOtherFileSystems(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount file systems")
	}
	t.Parallel()
	for kind, script := range mountWorkspace {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{
				"mv low low3; rm low3", "mv low low3; echo new > low; rm low3", "chmod 600 low; rm low", "rm low", "echo evil > low",
				"rm sub/s", "mv sub/s x", "echo evil > sub/s", "touch low; mv low z; rm z", "mv low sub/s", "cp low c; mv c low",
				"echo evil > low; chattr +d low", "btrfs subvolume create new; btrfs subvolume snapshot sub copy; echo x > sub/s",
			} {
				a := clitest.NewAgent(t, true)
				dir := t.TempDir()
				mount := exec.Command("sh", "-c", script)
				mount.Env = append(os.Environ(), "W="+a.Workspace, "D="+dir)
				out, err := mount.CombinedOutput()
				unmount := func() {
					for _, place := range []string{filepath.Join(a.Workspace, "sub"), a.Workspace, filepath.Join(dir, "over")} {
						_ = unix.Unmount(place, unix.MNT_DETACH)
					}
				}
				t.Cleanup(unmount)
				if err != nil {
					t.Fatalf("%v %s", err, out)
				}
				before := a.SnapshotWorkspace()
				ran := a.RunBatch(clitest.NewExecCall(command))[0]
				undone := a.RunBatch(clitest.ToolCall{Tool: "undo", Args: map[string]any{}})[0]
				if diff := clitest.DiffSnapshots(before, a.SnapshotWorkspace()); diff != "" {
					t.Errorf("%s: %s\nundo: %s\n%s", command, ran.FullText(), undone.FullText(), diff)
				}
				unmount()
			}
		})
	}
}
