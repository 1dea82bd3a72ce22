package config

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestUnreadableHomeIsAnError(t *testing.T) {
	if home := os.Getenv("UNSEARCHABLE_HOME"); home != "" {
		_, err := Load(LoadOptions{Environ: []string{"PICOCLAW_HOME=" + home}})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the error is %v", err)
		}
		_, err = Load(LoadOptions{Environ: []string{"PICOCLAW_HOME=" + filepath.Join(home, "..", "open")}})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a file that can't be read: %v", err)
		}
		return
	}
	dir := t.TempDir()
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "open")
	for _, path := range []string{closed, open} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(open, "config.json"), []byte("{}"), 0o000); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o000); err != nil {
		t.Fatal(err)
	}
	// Root sees everything, so the test asks itself as somebody else.
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "test")
	if err := os.WriteFile(self, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Dir(dir)} { // both are the test's own
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(self, "-test.run=^TestUnreadableHomeIsAnError$")
	cmd.Env = []string{"UNSEARCHABLE_HOME=" + closed}
	cmd.Dir = "/"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	_ = os.Chmod(closed, 0o755) // for the clean-up of the directory when not root
}
