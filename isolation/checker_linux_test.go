package isolation

import (
	"errors"
	"io/fs"
	"os"
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
