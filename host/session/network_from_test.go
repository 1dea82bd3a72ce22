package session

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a program is set to is what is reached, not its standard places.
func TestProgramHostsReadSettings(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{
		"GOPROXY": "https://modules.test,https://other.test:8443|direct", "GOSUMDB": "sums.test+0123 https://mirror.test",
		"npm_config_registry": "http://npm.test:4873/", "PIP_INDEX_URL": "https://wheels.test/simple",
		"MIRROR": "expanded.test", "HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "PIP_CONFIG_FILE": "",
	} {
		t.Setenv(name, value)
	}
	for name, text := range map[string]string{
		".npmrc": "# registry=https://comment.test\n  @scope:registry = \"https://${MIRROR}/\"\n" +
			"//npm.test/:_authToken=https://token.test\n",
		".config/pip/pip.conf": "[global]\nextra-index-url =\n    https://more.test/simple\n    # https://comment.test\n" +
			"    https://most.test:8443/simple\ntimeout = 60\n",
	} {
		file := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
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
	for from, want := range map[string][]string{
		"go":  {"mirror.test", "modules.test", "other.test:8443"},
		"npm": {"expanded.test", "npm.test:4873"},
		"pip": {"more.test", "most.test:8443", "wheels.test"},
		"git": {"rewritten.test"},
	} {
		got, err := configuredProgramHosts([]string{from}, workspace)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", from, got, err)
		}
	}
}

// Without settings of their own, programs reach their standard places, and those that this machine sets.
func TestProgramHostsDefaults(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"npm_config_registry", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for from, want := range map[string]string{"npm": "registry.npmjs.org", "pip": "files.pythonhosted.org"} {
		if got, err := configuredProgramHosts([]string{from}, home); err != nil || !slices.Contains(got, want) {
			t.Errorf("%s: %q %v, want %s", from, got, err, want)
		}
	}
	targets, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI)").Output()
	if err != nil {
		t.Skip("apt does not say what its sources are: ", err)
	}
	got, err := configuredProgramHosts([]string{"apt"}, home)
	if err != nil {
		t.Fatal(err)
	}
	for target := range strings.FieldsSeq(string(targets)) {
		if entry := allowEntryOfURL(target); entry != "" && !slices.Contains(got, entry) {
			t.Errorf("%q lacks %s", got, entry)
		}
	}
}
