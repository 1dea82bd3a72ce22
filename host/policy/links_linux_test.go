package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Patterns open what they name by symlinks that only root can change, and nothing by a symlink of an agent.
func TestPatternsFollowLinks(t *testing.T) {
	t.Parallel()
	lo, err := filepath.EvalSymlinks("/sys/class/net/lo")
	if err != nil {
		t.Skipf("this machine shows no network devices: %v", err)
	}
	release, err := filepath.EvalSymlinks("/etc/os-release")
	if err != nil || release == "/etc/os-release" {
		t.Skipf("/etc/os-release is no symlink here: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	exact := func(path string) string { return "^" + regexp.QuoteMeta(path) + "$" }
	for pattern, want := range map[string]string{
		`^/sys/class/net/[^/]+/address$`:      exact(lo + "/address"),
		`^/sys/class/net/lo/statistics/rx.*`:  exact(lo + "/statistics/rx_bytes"),
		exact("/etc/os-release"):              exact(release),
		exact(link):                           "",
		exact("/proc/self/maps"):              "",
		exact("/etc/passwd"):                  "",
		`^/etc/os-rel.*$`:                     "",
		`^/sys/class/net/[^/]+/no_such_file$`: "",
	} {
		got := addLinkTargets([]string{pattern})
		if got[0] != pattern || want == "" && len(got) > 1 || want != "" && !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
