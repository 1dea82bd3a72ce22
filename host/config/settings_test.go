package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentOverridesCommonSettings(t *testing.T) {
	c := mustLoad(t, `{
"agents": {
  "defaults": {"workspace": "/srv/ws", "allow_read_outside_workspace": true},
  "agents": [
    {"id": "main"},
    {"id": "coder",
     "restrict_to_workspace": false,
     "tools": {"disabled": ["write_file"], "exec": {"timeout_seconds": 9}},
     "isolation": {"network": false},
     "plugins": {"enabled": ["file*"], "disabled": ["shell"]}},
    {"id": "third", "workspace": "~/third"}
  ]
},
"tools": {"disabled": ["exec"], "exec": {"env": ["LANG"]}}
}`, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=3")
	if diff := cmp.Diff([]string{"main", "coder", "third"}, c.AgentIDs()); diff != "" {
		t.Errorf("the agents (-want +got):\n%s", diff)
	}
	main, coder, third := mustAgent(t, c, ""), mustAgent(t, c, "coder"), mustAgent(t, c, "third")

	// The workspace that is set for all is the first agent's alone: no two agents share one by default.
	for a, want := range map[*AgentConfig]string{
		main: "/srv/ws", coder: filepath.Join(c.Home().Path, "workspace-coder"), third: "/home/user/third",
	} {
		if a.Workspace != want || a.CustomWorkspace != (a != coder) {
			t.Errorf("agent %s: workspace %s, its own %t; want %s", a.ID, a.Workspace, a.CustomWorkspace, want)
		}
	}
	if !main.RestrictToWorkspace || coder.RestrictToWorkspace || !coder.AllowReadOutsideWorkspace {
		t.Errorf("main %+v, coder %+v", main.AgentDefaults, coder.AgentDefaults)
	}
	if !cmp.Equal(main.Tools.Disabled, []string{"exec"}) || !cmp.Equal(coder.Tools.Disabled, []string{"write_file"}) {
		t.Errorf("disabled: main %v, coder %v", main.Tools.Disabled, coder.Tools.Disabled)
	}
	// What is set for one agent is more specific than a variable that sets it for all.
	if main.Tools.Exec.TimeoutSeconds != 3 || coder.Tools.Exec.TimeoutSeconds != 9 || !cmp.Equal(coder.Tools.Exec.Env,
		[]string{"LANG"}) {
		t.Errorf("exec: main %+v, coder %+v", main.Tools.Exec, coder.Tools.Exec)
	}
	if !main.Isolation.Network || coder.Isolation.Network {
		t.Errorf("network: main %t, coder %t", main.Isolation.Network, coder.Isolation.Network)
	}
	if want := (AgentPlugins{Enabled: []string{"file*"}, Disabled: []string{"shell"}}); !cmp.Equal(coder.Plugins, want) {
		t.Errorf("plugins: %+v", coder.Plugins)
	}
	for key, want := range map[string]string{
		"workspace":                    "default",
		"restrict_to_workspace":        c.FilePath() + ":7",
		"allow_read_outside_workspace": c.FilePath() + ":3",
		"tools.disabled":               c.FilePath() + ":8",
		"tools.exec.timeout_seconds":   c.FilePath() + ":8",
		"tools.exec.env":               c.FilePath() + ":14",
		"tools.set":                    "default",
		"plugins.enabled":              c.FilePath() + ":10",
	} {
		if got := find(t, coder.Settings(), key).Origin.String(); got != want {
			t.Errorf("coder's %s comes from %s; want %s", key, got, want)
		}
	}
}

func TestModules(t *testing.T) {
	const module = `[{"module": "filesystem", "actions": ["read", "ls"],
		"constraints": {"paths": ["{{workspace}}", "{{workspace}}/src", "/data"], "max_file_size": "50MB"}}]`
	a := mustAgent(t, mustLoad(t, `{"agents": {"agents": [{"id": "a", "modules": `+module+`}]}}`), "a")
	want := []ModuleRestriction{{Module: "filesystem", Actions: []string{"read", "ls"},
		Constraints: ModuleConstraints{Paths: []string{"{{workspace}}", "{{workspace}}/src", "/data"}, MaxFileSize: "50MB"}}}
	if diff := cmp.Diff(want, a.Modules); diff != "" {
		t.Errorf("the modules (-want +got):\n%s", diff)
	}
	if a.Tools.Set != "module" || find(t, a.Settings(), "tools.set").Value != "module" {
		t.Errorf("an agent with modules has the %s set", a.Tools.Set)
	}
	for _, text := range []string{
		`{"tools": {"set": "all"}, "agents": {"agents": [{"id": "a", "modules": ` + module + `}]}}`,
		`{"agents": {"agents": [{"id": "a", "tools": {"set": "all"}, "modules": ` + module + `}]}}`,
	} {
		if a := mustAgent(t, mustLoad(t, text), "a"); a.Tools.Set != "all" {
			t.Errorf("%s: the set is %s", text, a.Tools.Set)
		}
	}
}

func TestWorkspaceFlag(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{"agents": {"agents": [{"id": "a", "workspace": "/from/file"}, {"id": "b"}]}}`)
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := filepath.Abs("sub")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ agent, flag, a, b string }{
		{"", "/flag", "/flag", i.path("workspace-b")},
		{"b", "sub", "/from/file", here},
		{"b", "~/x", "/from/file", "/home/user/x"},
	} {
		c, err := Load(LoadOptions{Environ: i.environ(), Workspace: test.flag, Agent: test.agent})
		if err != nil {
			t.Fatal(err)
		}
		a, b := mustAgent(t, c, "a"), mustAgent(t, c, "b")
		if a.Workspace != test.a || b.Workspace != test.b {
			t.Errorf("%+v: workspaces %s and %s", test, a.Workspace, b.Workspace)
		}
		chosen := a
		if test.agent == "b" {
			chosen = b
		}
		if got := find(t, chosen.Settings(), "workspace").Origin.String(); got != "--workspace" || !chosen.CustomWorkspace {
			t.Errorf("%+v: the workspace comes from %s", test, got)
		}
	}
	if _, err := Load(LoadOptions{Environ: i.environ(), Workspace: "/flag", Agent: "c"}); err == nil ||
		err.Error() != `there is no agent "c"; the nearest is "a"; the configuration has a, b` {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestEmptyAgentListHasMain(t *testing.T) {
	c := mustLoad(t, `{"agents": {"agents": []}}`)
	if got := mustAgent(t, c, "main").Workspace; got != filepath.Join(c.Home().Path, "workspace") {
		t.Errorf("main's workspace is %s", got)
	}
}
