package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// instance is a home for a test, with HOME=/home/user.
type instance struct {
	t    *testing.T
	home string
}

func newInstance(t *testing.T) instance {
	t.Helper()
	return instance{t, t.TempDir()}
}

func (i instance) path(name string) string { return filepath.Join(i.home, name) }

// write puts a file into the home.
func (i instance) write(name, text string) {
	i.t.Helper()
	if err := os.WriteFile(i.path(name), []byte(text), 0o600); err != nil {
		i.t.Fatal(err)
	}
}

func (i instance) environ(variables ...string) []string {
	return append([]string{"HOME=/home/user", "PICOCLAW_HOME=" + i.home}, variables...)
}

func (i instance) load(variables ...string) (*Config, error) {
	return Load(LoadOptions{Environ: i.environ(variables...)})
}

// mustLoad loads text as config.json, or without a file when it is empty.
func mustLoad(t *testing.T, text string, variables ...string) *Config {
	t.Helper()
	i := newInstance(t)
	if text != "" {
		i.write("config.json", text)
	}
	c, err := i.load(variables...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustAgent(t *testing.T, c *Config, id string) *AgentConfig {
	t.Helper()
	a, err := c.ResolveAgent(id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// find returns the setting of a key.
func find(t *testing.T, settings []Setting, key string) Setting {
	t.Helper()
	for _, s := range settings {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("there is no setting %s", key)
	return Setting{}
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "")
	a := mustAgent(t, c, "")
	want := &AgentConfig{
		ID: "main",
		AgentDefaults: AgentDefaults{
			Workspace:           filepath.Join(c.Home().Path, "workspace"),
			RestrictToWorkspace: true,
			Limits:              QuotaLimits{CallsAtOnce: 16, CommandsPerCPU: 1, CallsPerMinute: 60_000, OutputMBPerMinute: 4096, Plugins: 64},
			Run:                 RunSettings{Limits: ExecLimits{Processes: 4096, Memory: "16GB", FileSize: "64GB", OpenFiles: 65536}},
			AgentLoopSettings: AgentLoopSettings{MaxTokens: 32768, MaxIterations: 50, MaxRetries: 2, RetryBackoff: 2, SummarizeMessages: 20,
				SummarizePercent: 75, MaxParallelTurns: 1, Budget: TurnBudget{Minutes: 60},
				Subturn:   SubagentLimits{MaxDepth: 3, MaxConcurrent: 5, TimeoutMinutes: 5, ConcurrencyTimeout: 30},
				Subagents: Subagents{AllowAgents: []string{}}},
		},
		Tools: Tools{
			Set: "picoclaw", Enabled: []string{}, Disabled: []string{}, Deferred: []string{},
			Resources: []string{}, Prompts: []string{}, Sampling: []string{}, AllowReadPaths: []string{}, AllowWritePaths: []string{},
			Exec: Exec{EnableDenyPatterns: true, CustomDenyPatterns: []string{}, CustomAllowPatterns: []string{},
				Rules:   []map[string]any{},
				Profile: "default", TimeoutSeconds: 60, Env: []string{},
				Limits: ExecLimits{Processes: 1024, Memory: "4GB", FileSize: "4GB", OpenFiles: 8192}},
			Cron: Cron{Enabled: true, AllowCommand: true, ExecTimeoutMinutes: 5},
			Undo: Undo{Enabled: true, MaxSize: "2GiB", MaxAgeDays: 30},
		},
		Isolation: Isolation{Network: true, ExposePaths: []isolation.ExposedPath{}},
		Heartbeat: Heartbeat{Enabled: true, Interval: 30},
	}
	if diff := cmp.Diff(want, a, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "settings" },
		cmp.Ignore())); diff != "" {
		t.Errorf("the default agent (-want +got):\n%s", diff)
	}
	for _, s := range append(c.Settings(), a.Settings()...) {
		if s.Origin.String() != "default" {
			t.Errorf("%s comes from %s", s.Key, s.Origin)
		}
	}
	if c.FilePath() != "" || c.IsolationEnabled() {
		t.Errorf("file %q, isolation %t", c.FilePath(), c.IsolationEnabled())
	}
	for id, want := range map[string]pluginpb.Grant{
		"filesystem": {Workspace: "rw", State: true, Takeback: true},
		"grep":       {Workspace: "ro", Exec: true, Env: []string{"HOME", "XDG_CONFIG_HOME"}},
		"shell":      {Workspace: "rw", Exec: true, Network: true, Takeback: true},
		"unheard-of": {},
	} {
		if p := c.Plugin(id); !p.Enabled || !cmp.Equal(p.Grants, want) {
			t.Errorf("plugin %s is %+v", id, p)
		}
	}
}

func TestLayersAndOrigins(t *testing.T) {
	c := mustLoad(t, `// A comment first.
{
  "tools": {
    "set": "all",
    "exec": {"timeout_seconds": 5, "profile": "seed_strict"}, // trailing commas are fine
  },
  "plugins": {"shell": {"grants": {"network": false}}},
}`, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=7", "PICOCLAW_LOG_LEVEL=debug")
	a := mustAgent(t, c, "main")
	if a.Tools.Set != "all" || a.Tools.Exec.TimeoutSeconds != 7 || a.Tools.Exec.Profile != "seed_strict" ||
		!a.Tools.Exec.EnableDenyPatterns {
		t.Errorf("the tools are %+v", a.Tools)
	}
	if got, want := c.Plugin("shell").Grants, (pluginpb.Grant{Workspace: "rw", Exec: true, Takeback: true}); !cmp.Equal(got, want) {
		t.Errorf("the shell's grants are %+v; want %+v", got, want)
	}
	for key, want := range map[string]string{
		"tools.set":                    c.FilePath() + ":4",
		"tools.exec.profile":           c.FilePath() + ":5",
		"tools.exec.timeout_seconds":   "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS",
		"tools.exec.env":               "default",
		"plugins.shell.grants.network": c.FilePath() + ":7",
		"plugins.shell.grants.exec":    "default",
	} {
		if got := find(t, c.Settings(), key); got.Origin.String() != want {
			t.Errorf("%s comes from %s; want %s", key, got.Origin, want)
		}
	}
}

func TestYAMLEqualsJSON(t *testing.T) {
	asJSON := mustLoad(t, `{"agents": {"defaults": {"workspace": "~/ws"}, "list": [{"id": "a", "tools": {"disabled": ["exec", "w*"]}}]},
		"isolation": {"enabled": true, "expose_paths": [{"source": "~/go", "target": "/go", "mode": "rw"}]},
		"plugins": {"x-1": {"config": {"n": 16, "deep": {"a.b": [1.5, true, null, "s"]}}}}}`)
	i := newInstance(t)
	i.write("config.yaml", `
agents:
  defaults: &anchor
    workspace: ~/ws
  list:
    - id: a
      tools: {disabled: [exec, "w*"]}
isolation:
  enabled: true
  expose_paths:
    - source: ~/go
      target: /go
      mode: rw
plugins:
  x-1:
    config:
      n: 0x10
      deep: {a.b: [1.5, true, null, s]}
`)
	asYAML, err := i.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Config{asJSON, asYAML} {
		a := mustAgent(t, c, "a")
		if a.Workspace != "/home/user/ws" || !a.CustomWorkspace || !cmp.Equal(a.Tools.Disabled, []string{"exec", "w*"}) {
			t.Errorf("the agent is %+v", a)
		}
		want := []isolation.ExposedPath{{Source: "/home/user/go", Target: "/go", Mode: "rw"}}
		if !c.IsolationEnabled() || !cmp.Equal(a.Isolation.ExposePaths, want) {
			t.Errorf("the isolation is %+v", a.Isolation)
		}
		free := map[string]any{"n": int64(16), "deep": map[string]any{"a.b": []any{1.5, true, nil, "s"}}}
		if diff := cmp.Diff(free, c.Plugin("x-1").Config); diff != "" {
			t.Errorf("the plugin's configuration (-want +got):\n%s", diff)
		}
	}
	if got := find(t, asYAML.Settings(), "isolation.expose_paths[0].mode").Origin; got.Line != 13 ||
		!strings.HasSuffix(got.Name, "config.yaml") {
		t.Errorf("the mode comes from %s", got)
	}
}

func TestExposePathsAreJoinedByTarget(t *testing.T) {
	c := mustLoad(t, `{"isolation": {"expose_paths": [
		{"source": "/a", "target": ""}, {"source": "/b", "target": "/t"}, {"source": "/c", "target": "/t/", "mode": "rw"}]}}`,
		`PICOCLAW_ISOLATION_EXPOSE_PATHS=[{"source": "/d", "target": "/a", "mode": "rw"}, {"source": "/e"}]`)
	want := []isolation.ExposedPath{
		{Source: "/c", Target: "/t", Mode: "rw"},
		{Source: "/d", Target: "/a", Mode: "rw"},
		{Source: "/e", Target: "/e", Mode: "ro"},
	}
	if diff := cmp.Diff(want, mustAgent(t, c, "").Isolation.ExposePaths); diff != "" {
		t.Errorf("the exposed paths (-want +got):\n%s", diff)
	}
	if got := find(t, c.Settings(), "isolation.expose_paths[0].source").Origin.String(); got != c.FilePath()+":2" {
		t.Errorf("the first source comes from %s", got)
	}
	if got := find(t, c.Settings(),
		"isolation.expose_paths[4].source").Origin.String(); got != "PICOCLAW_ISOLATION_EXPOSE_PATHS" {
		t.Errorf("the last source comes from %s", got)
	}
}

func TestReturnedValuesAreCopies(t *testing.T) {
	c := mustLoad(t, `{"agents": {"agents": [{"id": "a", "tools": {"disabled": ["x"]}, "modules": [{"module": "filesystem", "actions": ["read"]}]}]},
		"plugins": {"p": {"config": {"l": ["x"]}, "grants": {"env": ["X"]}}}}`)
	a := mustAgent(t, c, "a")
	a.Tools.Disabled[0], a.Modules[0].Actions[0] = "changed", "changed"
	find(t, a.Settings(), "tools.disabled").Value.([]string)[0] = "changed"
	find(t, c.Settings(), "plugins.p.grants.env").Value.([]string)[0] = "changed"
	p := c.Plugin("p")
	p.Grants.Env[0] = "changed"
	p.Config["l"].([]any)[0] = "changed"
	KnownKeys()[0].Name = "changed"

	again := mustAgent(t, c, "a")
	if again.Tools.Disabled[0] != "x" || again.Modules[0].Actions[0] != "read" {
		t.Errorf("the agent is %+v", again)
	}
	if p := c.Plugin("p"); p.Grants.Env[0] != "X" || p.Config["l"].([]any)[0] != "x" {
		t.Errorf("the plugin is %+v", p)
	}
	if got := find(t, c.Settings(), "plugins.p.grants.env").Value.([]string)[0]; got != "X" {
		t.Errorf("the setting is %s", got)
	}
	if KnownKeys()[0].Name == "changed" {
		t.Error("the table has changed")
	}
}
