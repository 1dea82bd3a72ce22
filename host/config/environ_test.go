package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariables(t *testing.T) {
	c := mustLoad(t, `{"agents": {"list": [{"id": "from-file", "workspace": "/x"}]}}`,
		"PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE=false",
		"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=~/ws",
		"PICOCLAW_TOOLS_ALLOW_READ_PATHS=^/etc/hosts$, ^/proc/.*",
		`PICOCLAW_TOOLS_ALLOW_WRITE_PATHS=["^/a,b$"] // JSON, where a pattern holds a comma`,
		"PICOCLAW_TOOLS_DISABLED=",
		"PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=0120",
		`PICOCLAW_AGENTS_AGENTS=[{"id": "a"}, {"id": "b", "tools": {"set": "all"}}]`,
		"PICOCLAW_PLUGINS_WORD_COUNT_GRANTS_WORKSPACE=ro",
		"PICOCLAW_PLUGINS_ENABLED_ENABLED=false",
		`PICOCLAW_PLUGINS_SHELL_CONFIG={"x": {"y": 1}}`,
	)
	a, b := mustAgent(t, c, "a"), mustAgent(t, c, "b")
	if a.RestrictToWorkspace || a.Workspace != "/home/user/ws" || a.Tools.Exec.TimeoutSeconds != 120 ||
		b.Tools.Set != "all" {
		t.Errorf("the agents are %+v and %+v", a, b)
	}
	if diff := cmp.Diff([]string{"^/etc/hosts$", "^/proc/.*"}, a.Tools.AllowReadPaths); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"^/a,b$"}, a.Tools.AllowWritePaths); diff != "" {
		t.Error(diff)
	}
	if got := find(t, a.Settings(), "tools.disabled"); len(got.Value.([]string)) != 0 ||
		got.Origin.Name != "PICOCLAW_TOOLS_DISABLED" {
		t.Errorf("tools.disabled is %+v", got)
	}
	if c.Plugin("word_count").Grants.Workspace != "ro" || c.Plugin("enabled").Enabled {
		t.Errorf("the plugins are %+v and %+v", c.Plugin("word_count"), c.Plugin("enabled"))
	}
	if diff := cmp.Diff(map[string]any{"x": map[string]any{"y": int64(1)}}, c.Plugin("shell").Config); diff != "" {
		t.Error(diff)
	}
	// The variable replaced the file's agents, and nothing that was said of those is left.
	if _, err := c.ResolveAgent("from-file"); err == nil {
		t.Error("the file's agent is still there")
	}
	for _, s := range c.Settings() {
		if strings.HasPrefix(s.Key, "agents.list") || s.Value == "/x" {
			t.Errorf("the replaced setting %s is still there", s.Key)
		}
	}
	if got := find(t, b.Settings(), "tools.set").Origin.String(); got != "PICOCLAW_AGENTS_AGENTS" {
		t.Errorf("b's set comes from %s", got)
	}
}

func TestVariableErrors(t *testing.T) {
	for variable, want := range map[string]string{
		"PICOCLAW_TOOLS_SETT=all":                        "PICOCLAW_TOOLS_SETT: sets no known key; the nearest known variable is PICOCLAW_TOOLS_SET",
		"PICOCLAW_tools_set=all":                         "PICOCLAW_tools_set: sets no known key; the nearest known variable is PICOCLAW_TOOLS_SET",
		"PICOCLAW_=x":                                    "PICOCLAW_: sets no known key; the nearest known variable is PICOCLAW_HOME",
		"PICOCLAW_CONFIGS=/x":                            "PICOCLAW_CONFIGS: sets no known key; the nearest known variable is PICOCLAW_CONFIG",
		"PICOCLAW_PLUGINS_SHELL_GRANTS_EXCE=true":        "PICOCLAW_PLUGINS_SHELL_GRANTS_EXCE: sets no known key; the nearest known variable is PICOCLAW_PLUGINS_SHELL_GRANTS_EXEC",
		"PICOCLAW_PLUGINS_WORD_COUNT_ENABLD=true":        "PICOCLAW_PLUGINS_WORD_COUNT_ENABLD: sets no known key; the nearest known variable is PICOCLAW_PLUGINS_WORD_COUNT_ENABLED",
		"PICOCLAW_PLUGINS={}":                            "PICOCLAW_PLUGINS: sets no known key; the nearest known variable is PICOCLAW_PLUGINS_<id>_DEV",
		"PICOCLAW_PLUGINS__ENABLED=true":                 "PICOCLAW_PLUGINS__ENABLED: sets no known key; the nearest known variable is PICOCLAW_PLUGINS_<id>_ENABLED",
		"PICOCLAW_ISOLATION_ENABLED=1":                   `PICOCLAW_ISOLATION_ENABLED: isolation.enabled: must be true or false, not the string "1"`,
		"PICOCLAW_ISOLATION_ENABLED=":                    `PICOCLAW_ISOLATION_ENABLED: isolation.enabled: must be true or false, not the string ""`,
		"PICOCLAW_ISOLATION_ENABLED=TRUE":                `PICOCLAW_ISOLATION_ENABLED: isolation.enabled: must be true or false, not the string "TRUE"`,
		"PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=1e3":        `PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS: tools.exec.timeout_seconds: must be a whole number, not a number (1e3)`,
		"PICOCLAW_AGENTS_DEFAULTS_MAX_TOKENS=-7":         `PICOCLAW_AGENTS_DEFAULTS_MAX_TOKENS: agents.defaults.max_tokens: -7 is not between 1 and 10000000`,
		"PICOCLAW_AGENTS_DEFAULTS_MAX_TOKENS=many":       `PICOCLAW_AGENTS_DEFAULTS_MAX_TOKENS: agents.defaults.max_tokens: must be a whole number, not the string "many"`,
		"PICOCLAW_TELEMETRY_SAMPLE=2":                    `PICOCLAW_TELEMETRY_SAMPLE: telemetry.sample: 2 is not between 0 and 1`,
		"PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=0":          `PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS: tools.exec.timeout_seconds: 0 is not between 1 and 86400`,
		"PICOCLAW_TOOLS_EXEC_CUSTOM_DENY_PATTERNS=a,(":   "PICOCLAW_TOOLS_EXEC_CUSTOM_DENY_PATTERNS: tools.exec.custom_deny_patterns[1]: \"(\" is not a regular expression: missing closing ): `(`",
		"PICOCLAW_TOOLS_ENABLED=[1]":                     `PICOCLAW_TOOLS_ENABLED: tools.enabled[0]: must be a string, not a number (1)`,
		"PICOCLAW_TOOLS_ENABLED=[":                       `PICOCLAW_TOOLS_ENABLED: tools.enabled: this is not JSON: it ends before it is complete; a closing quote, bracket or brace is missing`,
		"PICOCLAW_AGENTS_AGENTS=a,b":                     `PICOCLAW_AGENTS_AGENTS: agents.agents: this is not JSON: column 1: invalid literal: a; strings are written in double quotes`,
		`PICOCLAW_AGENTS_AGENTS=[{"id":"a"},{"id":"a"}]`: `PICOCLAW_AGENTS_AGENTS: agents.agents[1].id: "a" is already the id of agents.agents[0]`,
		"PICOCLAW_ISOLATION_EXPOSE_PATHS={}":             `PICOCLAW_ISOLATION_EXPOSE_PATHS: isolation.expose_paths: must be a list of objects, not an object`,
		"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=ws":          `PICOCLAW_AGENTS_DEFAULTS_WORKSPACE: agents.defaults.workspace: "ws" is not an absolute path`,
	} {
		_, err := newInstance(t).load(variable)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", variable, err, want)
		}
	}
}

// Every variable has one key, so that none sets what another means.
func TestVariablesAreUnambiguous(t *testing.T) {
	keys := map[string]string{}
	for _, row := range KnownKeys() {
		variable := row.VariableName()
		if variable == "" {
			continue
		}
		if other, twice := keys[variable]; twice {
			t.Errorf("%s sets both %s and %s", variable, row.Name, other)
		}
		keys[variable] = row.Name
		name := strings.ReplaceAll(variable, "<id>", "SOME_ID")
		e, path := findVariableKeyNode(name)
		if e == nil || path != strings.ReplaceAll(row.Name, "<id>", "some_id") {
			t.Errorf("%s sets %s; want %s", name, path, row.Name)
		}
	}
	if len(keys) < 20 {
		t.Errorf("only %d keys have a variable", len(keys))
	}
}
