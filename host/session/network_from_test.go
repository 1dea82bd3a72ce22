package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Each program is asked for itself, so its mirrors are what is reached.
func TestProgramsSayWhatTheyReach(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{
		"GOPROXY": "https://modules.test,https://other.test:8443|direct", "GOSUMDB": "sums.test+0123 https://mirror.test",
		"npm_config_registry": "http://npm.test:4873/", "PIP_INDEX_URL": "https://wheels.test/simple",
		"PIP_EXTRA_INDEX_URL": "https://more.test/simple", "HOME": home,
	} {
		t.Setenv(name, value)
	}
	workspace := filepath.Join(home, "workspace")
	for _, args := range [][]string{
		{"init", "-q", workspace},
		{"-C", workspace, "remote", "add", "origin", "https://git.test/x.git"},
		{"-C", workspace, "remote", "add", "short", "git@ssh.test:x.git"},
		{"config", "--global", "url.https://rewritten.test/.insteadOf", "https://git.test/"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	cache := filepath.Join(home, "cache", "network-from.json")
	for from, want := range map[string][]string{
		"go":  {"mirror.test", "modules.test", "other.test:8443"},
		"npm": {"npm.test:4873"},
		"pip": {"more.test", "wheels.test"},
		"git": {"rewritten.test"},
	} {
		got, err := programHosts(cache, []string{from}, workspace)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", from, got, err)
		}
	}
	t.Setenv("GOPROXY", "https://changed.test")
	if got, err := programHosts(cache, []string{"go"}, workspace); err != nil || got[0] != "mirror.test" {
		t.Errorf("what was said a moment ago is asked for again: %q %v", got, err)
	}
	if err := os.WriteFile(cache, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := programHosts(cache, []string{"go"}, workspace); err != nil || got[0] != "changed.test" {
		t.Errorf("behind a broken file: %q %v", got, err)
	}
}
