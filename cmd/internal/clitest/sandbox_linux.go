package clitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// SeedSandboxCache copies cached sandbox files into a home, which saves its first sandbox several seconds: the
// results of the self-test, and the copy of /etc.
func SeedSandboxCache(t *testing.T, home string) {
	t.Helper()
	if err := copySandboxCache(home); err != nil {
		t.Fatal(err)
	}
}

func copySandboxCache(home string) error {
	seed, err := createSandboxCache()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, "cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, result := range seed.results {
		text, err := os.ReadFile(result)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(result)), text, 0o600); err != nil {
			return err
		}
	}
	for _, etc := range seed.etc {
		if err := os.Symlink(etc, filepath.Join(dir, filepath.Base(etc))); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// cacheHome is the home that createSandboxCache uses. [BuildProgramsAndRunTests] removes it.
var cacheHome string

// sandboxCacheFiles lists the self-test results and /etc copies below a home.
type sandboxCacheFiles struct{ results, etc []string }

// createSandboxCache starts a sandbox with and without network in a temporary home, and returns the files that this
// cached. It runs once per test binary.
var createSandboxCache = sync.OnceValues(func() (*sandboxCacheFiles, error) {
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		return nil, err
	}
	cacheHome = home
	for _, network := range []string{"true", "false"} {
		cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PICOCLAW_HOME=" + home,
			"PICOCLAW_ISOLATION_ENABLED=true", "PICOCLAW_ISOLATION_NETWORK=" + network}
		cmd.Stdin = strings.NewReader(`{"id":1,"tool":"exec","args":{"command":"true"}}` + "\n")
		if out, runErr := cmd.CombinedOutput(); runErr != nil {
			return nil, fmt.Errorf("start a sandbox: %w: %s", runErr, out)
		}
	}
	results, err := filepath.Glob(filepath.Join(home, "cache", "selftest-*.json"))
	if err != nil {
		return nil, err
	}
	etc, err := filepath.Glob(filepath.Join(home, "cache", "etc-*"))
	return &sandboxCacheFiles{results, etc}, err
})
