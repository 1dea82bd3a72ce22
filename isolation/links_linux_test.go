package isolation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A target in the workspace is refused where bubblewrap would follow a link there, which is shown, and fine where it
// would not.
func TestMountTargetsInWorkspace(t *testing.T) {
	base := realTemp(t)
	work, data, victim := filepath.Join(base, "work"), filepath.Join(base, "data"), filepath.Join(base, "victim")
	put(t, filepath.Join(work, "assets", "f"), "covered")
	put(t, filepath.Join(data, "f"), "data")
	put(t, filepath.Join(victim, "f"), "")
	rule := ExposedPath{Source: data, Target: filepath.Join(work, "assets"), Mode: ModeReadOnly}
	i := configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{rule}})
	p := Profile{Name: "fs", ReadWrite: []string{work}}

	// What a bubblewrap does that follows links: the agent makes one, and something is made on the host.
	if err := os.Symlink("/oldroot"+victim, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	naive := exec.Command(i.starter.bwrap, "--unshare-user", "--ro-bind", "/", "/", "--bind", work, work,
		"--ro-bind", data, filepath.Join(work, "link", "new"), "--", "/bin/true")
	said, _ := naive.CombinedOutput()
	_, err := os.Lstat(filepath.Join(victim, "new"))
	follows := err == nil
	if got := bwrapFollowsLinks(i.starter.bwrap, base); got != follows {
		t.Errorf("follows links: %t, and it is found out %t: %s", follows, got, said)
	}

	i.starter.linkSafe = func() bool { return false }
	var wrong *ConfigError
	if _, err := i.Start(child("env"), p); !errors.As(err, &wrong) || !strings.Contains(wrong.Cure, "0.12") {
		t.Errorf("%v", err)
	}
	i.starter.linkSafe = func() bool { return true }
	if r := outcome(t, i, child("read", filepath.Join(work, "assets", "f")), p); r.stdout != "data" {
		t.Errorf("%q %s", r.stdout, r.stderr)
	}
	if r := outcome(t, i, child("write", filepath.Join(work, "assets", "g"), "x"), p); r.exit.Success() {
		t.Error("what is shown read-only can be written")
	}
	// A link in the target's place is refused, whatever bubblewrap would make of it.
	if err := os.Rename(filepath.Join(work, "assets"), filepath.Join(work, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(work, "assets")); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Start(child("env"), p); err == nil {
		t.Error("a link for a target is mounted over")
	}
}

func TestUnknownBubblewrapFollowsLinks(t *testing.T) {
	if !bwrapFollowsLinks("/bin/true", realTemp(t)) || !bwrapFollowsLinks("/bin/true", "/none") {
		t.Error("what makes nothing is taken for safe")
	}
}
