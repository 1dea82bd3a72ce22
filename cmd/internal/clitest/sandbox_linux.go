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

// SeedSandbox gives a home what its first sandbox would make otherwise, which takes longer than most tests do: the
// results of the self-test, which hold for this user and program only, and the copy of /etc.
func SeedSandbox(t *testing.T, home string) {
	t.Helper()
	if err := seedSandbox(home); err != nil {
		t.Fatal(err)
	}
}

func seedSandbox(home string) error {
	seed, err := sandboxSeed()
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

// seedHome is the home that sandboxSeed has made. [Main] removes it.
var seedHome string

type sandboxFiles struct{ results, etc []string }

// sandboxSeed has picoclaw start a sandbox with and without network in a home of its own.
var sandboxSeed = sync.OnceValues(func() (*sandboxFiles, error) {
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		return nil, err
	}
	seedHome = home
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
	return &sandboxFiles{results, etc}, err
})
