package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// given loads what a fleet gives to a machine with a configuration of its own.
func given(t *testing.T, central, own string, variables ...string) (*Config, error) {
	t.Helper()
	i := newInstance(t)
	if err := os.Mkdir(i.path("fleet"), 0o700); err != nil {
		t.Fatal(err)
	}
	i.write("fleet/central.json", central)
	if own != "" {
		i.write("config.json", own)
	}
	return i.load(variables...)
}

func TestFileOverridesFleetConfig(t *testing.T) {
	c, err := given(t, `{"agents": {"list": [{"id": "theirs", "tools": {"disabled": ["rm"]}}]},
			"tools": {"disabled": ["exec"], "exec": {"timeout_seconds": 5}}, "network": {"allow": ["a.example"]},
			"log": {"level": "info"}, "isolation": {"expose_paths": [{"source": "/theirs"}, {"source": "/more"}]}}`,
		`{"tools": {"exec": {"timeout_seconds": 9}}, "agents": {"agents": [{"id": "mine"}]},
			"isolation": {"expose_paths": [{"source": "/mine"}]}}`, "PICOCLAW_LOG_LEVEL=error")
	if err != nil {
		t.Fatal(err)
	}
	a := mustAgent(t, c, "mine")
	if got := a.Tools.Exec.TimeoutSeconds; got != 9 {
		t.Errorf("the machine's own timeout: %d", got)
	}
	if diff := cmp.Diff([]string{"exec"}, a.Tools.Disabled); diff != "" {
		t.Errorf("the fleet's tools.disabled: %s", diff)
	}
	if diff := cmp.Diff([]string{"mine"}, c.AgentIDs()); diff != "" {
		t.Errorf("agents: %s", diff)
	}
	if c.Log().Level != "error" {
		t.Errorf("log.level: %s", c.Log().Level)
	}
	for _, s := range c.Settings() {
		if strings.Contains(s.Key, "theirs") || strings.Contains(s.Key, "[1]") || s.Value == "theirs" {
			t.Errorf("%s is said to be set to %v", s.Key, s.Value)
		}
		if s.Key == "tools.disabled" && s.Origin.Name != c.central {
			t.Errorf("%s is said to be from %s", s.Key, s.Origin)
		}
	}

	c, err = given(t, `{"agents": {"list": [{"id": "theirs"}, {"id": "second"}]}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"theirs", "second"}, c.AgentIDs()); diff != "" {
		t.Errorf("agents of the fleet's: %s", diff)
	}
}

func TestFleetConfigCannotSetLocalKeys(t *testing.T) {
	for _, text := range []string{`{"fleet": {"trust": ["x"]}}`,
		`{"secrets": {"X": {"from": {"env": "X"}, "hosts": ["a.example"]}}}`} {
		if _, err := given(t, text, ""); err == nil || !strings.Contains(err.Error(), "can't be set by a fleet") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := given(t, `{"tols": {}}`, ""); err == nil || !strings.Contains(err.Error(), "central.json:1") {
		t.Errorf("a broken one: %v", err)
	}
}
