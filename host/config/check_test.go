package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadReportsAllErrors(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{
  "agents": {"agents": [
    {"id": "a", "tool": {}},
    {"id": "a"},
    {"workspace": "relative"},
    7
  ]},
  "tools": {
    "set": "picclaw", "set": "all",
    "allow_read_paths": ["^/(a", "^/b$", "^/[c"],
    "exec": {"timeout_seconds": 0, "env": "PATH"}
  },
  "plugins": {"p": {"config": {"x": 1, "x": 2}, "grants": {"workspace": "all"}}}
}`)
	variables := []string{"PICOCLAW_TOOLS_SETT=all", "PICOCLAW_ISOLATION_ENABLED=yes", "PICOCLAW_TOOLS_ENABLED=["}
	c, faults := LoadWithAllErrors(LoadOptions{Environ: i.environ(variables...)})
	if c != nil {
		t.Error("there is a configuration")
	}
	var got []string
	for _, f := range faults {
		place, _, _ := strings.Cut(f.Error(), f.Problem)
		got = append(got, strings.ReplaceAll(place, i.path("config.json"), "FILE"))
	}
	want := []string{
		"FILE:3: agents.agents[0].tool: ",
		"FILE:4: agents.agents[1].id: ",
		"FILE:5: agents.agents[2].workspace: ",
		"FILE:5: agents.agents[2].id: ",
		"FILE:6: agents.agents[3]: ",
		"FILE:9: tools.set: ",
		"FILE:9: tools.set: ",
		"FILE:10: tools.allow_read_paths[0]: ",
		"FILE:10: tools.allow_read_paths[2]: ",
		"FILE:11: tools.exec.timeout_seconds: ",
		"FILE:11: tools.exec.env: ",
		"FILE:13: plugins.p.config.x: ",
		"FILE:13: plugins.p.grants.workspace: ",
		"PICOCLAW_ISOLATION_ENABLED: isolation.enabled: ",
		"PICOCLAW_TOOLS_ENABLED: tools.enabled: ",
		"PICOCLAW_TOOLS_SETT: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := i.load(variables...); err == nil || err.Error() != faults[0].Error() {
		t.Errorf("Load says %v, not the first", err)
	}
}

func TestLoadAcceptsValidConfig(t *testing.T) {
	i := newInstance(t)
	i.write("config.json", `{"tools": {"set": "all"}}`)
	c, faults := LoadWithAllErrors(LoadOptions{Environ: i.environ()})
	if len(faults) != 0 || c.FilePath() != i.path("config.json") {
		t.Errorf("%v, %v", c, faults)
	}
}
