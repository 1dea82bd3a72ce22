package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// SeedSelfTest writes the results of the sandbox's self-test into a home. Without them its first sandbox is attacked,
// which takes longer than most tests do. They hold for the same user and program only.
func SeedSelfTest(t *testing.T, home string) {
	t.Helper()
	if err := seedSelfTest(home); err != nil {
		t.Fatal(err)
	}
}

func seedSelfTest(home string) error {
	results, err := selfTests()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, "cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range results {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// selfTests has picoclaw test the sandbox with and without network, and returns the results by their file names.
var selfTests = sync.OnceValues(func() (map[string][]byte, error) {
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	for _, network := range []string{"true", "false"} {
		cmd := exec.Command(hosttest.Program("bin/picoclaw"), "batch")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PICOCLAW_HOME=" + home,
			"PICOCLAW_ISOLATION_ENABLED=true", "PICOCLAW_ISOLATION_NETWORK=" + network}
		cmd.Stdin = strings.NewReader(`{"id":1,"tool":"exec","args":{"command":"true"}}` + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("test the sandbox: %w: %s", err, out)
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "cache", "selftest-*.json"))
	if err != nil {
		return nil, err
	}
	results := map[string][]byte{}
	for _, file := range files {
		if results[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return results, nil
})
