package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// narrowed returns the configuration of the agent main, narrowed by a project's file.
func narrowed(t *testing.T, operator, project string) (*Config, *AgentConfig) {
	t.Helper()
	p, err := ParseProject("/p/"+ProjectFile, []byte(project))
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/config.json"
	if err := os.WriteFile(file, []byte(operator), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(LoadOptions{File: file, Project: p, Environ: []string{"HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.ResolveAgent("")
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

func TestProjectNarrows(t *testing.T) {
	t.Parallel()
	const operator = `{"agents": {"defaults": {"restrict_to_workspace": false, "run": {"limits": {"memory": "1GB", "processes": 0, "cpu_seconds": 9}}}},
		"tools": {"disabled": ["a"], "exec": {"custom_deny_patterns": ["x"]}}, "workspace": {"protect": {"enabled": false, "deny": ["one"]}}}`
	c, a := narrowed(t, operator, `{"agents": {"defaults": {"restrict_to_workspace": true, "run": {"limits": {"memory": "1MB", "processes": 5, "cpu_seconds": 3}}}},
		"tools": {"disabled": ["b"], "exec": {"custom_deny_patterns": ["y"]}}, "workspace": {"protect": {"deny": ["two"]}}, // a comment
		"network": {"allow": [], "deny": ["d.test"]}}`)
	got := []any{a.RestrictToWorkspace, a.Run.Limits.Memory, a.Run.Limits.Processes, a.Run.Limits.CPUSeconds, a.Tools.Disabled,
		a.Tools.Exec.CustomDenyPatterns, c.FileProtection().Enabled, c.FileProtection().Deny, c.ProjectNetwork().Allow, c.ProjectNetwork().Deny}
	want := []any{true, "1MB", int64(5), int64(3), []string{"a", "b"}, []string{"x", "y"}, true, []string{"one", "two"}, []string{}, []string{"d.test"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.ProjectNetwork().Allow == nil {
		t.Error("an empty list of hosts is the same as none")
	}
}

func TestProjectCannotWiden(t *testing.T) {
	t.Parallel()
	const operator = `{"agents": {"defaults": {"restrict_to_workspace": true, "run": {"limits": {"memory": "1MB", "processes": 5, "cpu_seconds": 3, "file_size": "1KB"}}}},
		"tools": {"disabled": ["a"]}, "workspace": {"protect": {"deny": ["one"]}}}`
	c, a := narrowed(t, operator, `{"agents": {"defaults": {"restrict_to_workspace": false, "run": {"limits": {"memory": "2GB", "processes": 0, "cpu_seconds": 9, "file_size": "2KB"}}}},
		"tools": {"disabled": []}, "workspace": {"protect": {"deny": []}}}`)
	got := []any{a.RestrictToWorkspace, a.Run.Limits.Memory, a.Run.Limits.Processes, a.Run.Limits.CPUSeconds, a.Run.Limits.FileSize, a.Tools.Disabled, c.FileProtection().Deny}
	if diff := cmp.Diff([]any{true, "1MB", int64(5), int64(3), "1KB", []string{"a"}, []string{"one"}}, got); diff != "" {
		t.Error(diff)
	}
}

// A project's file can set only keys that narrow. A mistake names the file, the line and the key.
func TestProjectKeysAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\"network\": {\"alow\": []}}":                                         ":2: network.alow: unknown key; the nearest known key is network.allow",
		"{\n\n\"secrets\": {\"K\": {\"from\": {\"env\": \"K\"}, \"hosts\": []}}}": ":3: secrets.K.",
		`{"tools": {"exec": {"custom_allow_patterns": ["x"]}}}`:                   "tools.exec.custom_allow_patterns: can't be set by a project",
		`{"isolation": {"expose_paths": [{"source": "/etc"}]}}`:                   "isolation.expose_paths: can't be set by a project",
		`{"agents": {"agents": [{"id": "main", "tools": {"disabled": ["x"]}}]}}`:  "agents.agents: can't be set by a project",
		`{"workspace": {"protect": {"ask": [".git"]}}}`:                           "workspace.protect.ask: can't be set by a project",
		`{"network": {"allow": "x"}}`:                                             "network.allow: must be a list of strings",
		`{`:                                                                       "this is not JSON",
	} {
		_, err := ParseProject("/p/"+ProjectFile, []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "/p/"+ProjectFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
