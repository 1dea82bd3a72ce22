package isolation

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// That a sandbox can be built is found out once for a bubblewrap, and again for another in its place.
func TestSandboxCheckIsCached(t *testing.T) {
	home := filepath.Join(realTemp(t), "home")
	i := configured(t, Config{Enabled: true, Home: home})
	kept := filepath.Join(home, "cache", "sandbox-built")
	if text, err := os.ReadFile(kept); err != nil || string(text) != i.starter.checker.cacheKey() {
		t.Fatalf("kept is %q: %v", text, err)
	}
	if err := os.WriteFile(kept, []byte("uid=0 another machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured(t, Config{Enabled: true, Home: home})
	if text, err := os.ReadFile(kept); err != nil || string(text) != i.starter.checker.cacheKey() {
		t.Errorf("what was kept of another machine counts: %q, %v", text, err)
	}
	if os.Getuid() != 0 {
		return // nobody else has a bubblewrap to change
	}
	bwrap := own(t)
	if _, err := newStarterForMachine(Config{Enabled: true, Home: home}, nil, []string{bwrap}); err != nil {
		t.Fatal(err)
	}
	spoil(t, bwrap)
	_, err := newStarterForMachine(Config{Enabled: true, Home: home}, nil, []string{bwrap})
	var cant *UnavailableError
	if !errors.As(err, &cant) {
		t.Errorf("a bubblewrap that builds none any more: %v", err)
	}
}

// A machine that gives no sandbox any more says so at the start, with the cure, though it gave one before.
func TestStartReportsUnavailableSandbox(t *testing.T) {
	if os.Getuid() != 0 {
		return // as above
	}
	home := filepath.Join(realTemp(t), "home")
	bwrap := own(t)
	i, err := newStarterForMachine(Config{Enabled: true, Home: home}, nil, []string{bwrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	spoil(t, bwrap)
	r := outcome(t, i, child("true"), Profile{Name: "late"})
	var cant *UnavailableError
	if !errors.As(r.err, &cant) || !strings.Contains(r.err.Error(), "bubblewrap cannot build a sandbox here") ||
		cant.Cure == "" {
		t.Errorf("%v", r.err)
	}
	if _, err := os.Stat(filepath.Join(home, "cache", "sandbox-built")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("that one can be built is still kept: %v", err)
	}
}

// own is a bubblewrap of the test's, which only root can change.
func own(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile(defaultBwrapPaths[0])
	if err != nil {
		t.Fatal(err)
	}
	path := put(t, filepath.Join(realTemp(t), "bwrap"), string(program))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// spoil puts a program in its place that builds nothing.
func spoil(t *testing.T, bwrap string) {
	t.Helper()
	broken := put(t, filepath.Join(realTemp(t), "broken"), "#!/bin/sh\nexit 1\n")
	if err := errors.Join(os.Chmod(broken, 0o755), os.Rename(broken, bwrap)); err != nil {
		t.Fatal(err)
	}
}

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
