package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestAChildIsNeverWider(t *testing.T) {
	parent := must(t, `{"tools": {"allow_read_paths": ["^/etc/hosts$"], "disabled": ["exec"]}, "isolation": {"network": false}}`)
	yes, no := true, false
	outside := filepath.Dir(filepath.Dir(parent.Workspace()))
	for name, child := range map[string]Child{
		"workspace outside":    {Workspace: outside},
		"workspace beside":     {Workspace: parent.Workspace() + "2"},
		"no restriction":       {RestrictToWorkspace: &no},
		"reading outside":      {AllowReadOutsideWorkspace: &yes},
		"another read pattern": {AllowReadPaths: []string{".*"}},
		"a write pattern":      {AllowWritePaths: []string{"^/tmp/x$"}},
		"no deny patterns":     {EnableDenyPatterns: &no},
		"an allow pattern":     {CustomAllowPatterns: []string{"rm"}},
		"a variable":           {ExecEnv: []string{"SECRET"}},
		"the network":          {Network: &yes},
		"a longer timeout":     {Limits: Limits{ExecTimeout: parent.Limits().ExecTimeout + 1}},
		"a larger result":      {Limits: Limits{ResultSize: parent.Limits().ResultSize + 1}},
		"a grant of its own":   {Grants: map[string]pluginpb.Grant{"grep": {Workspace: "none", Takeback: true}}},
		"another tool set":     {ToolSet: "all"},
	} {
		if got, err := parent.Narrow(child); err == nil {
			t.Errorf("%s: a child gets %+v", name, got.Guard())
		} else if !strings.Contains(err.Error(), "main") {
			t.Errorf("%s: the error does not name the agent: %v", name, err)
		}
	}
}

func TestAChildIsWhatItAsksFor(t *testing.T) {
	parent := must(t, `{"tools": {"allow_read_paths": ["^/etc/hosts$", "^/etc/passwd$"]}}`)
	if err := os.Mkdir(filepath.Join(parent.Workspace(), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	child, err := parent.Narrow(Child{Workspace: "sub", AllowReadPaths: []string{"^/etc/hosts$"},
		DisabledTools: []string{"write_*"}})
	if err != nil {
		t.Fatal(err)
	}
	g := child.Guard()
	if g.Workspace != filepath.Join(parent.Workspace(), "sub") || len(g.AllowReadPaths) != 1 {
		t.Errorf("the child's policy is %+v", g)
	}
	if child.Allows("filesystem", "write_file", []string{"picoclaw"}) || !child.Allows("filesystem", "read_file",
		[]string{"picoclaw"}) {
		t.Error("the child's tools are not the parent's less write_*")
	}
	if !parent.Allows("filesystem", "write_file", []string{"picoclaw"}) {
		t.Error("narrowing has changed the parent")
	}
	same, err := parent.Narrow(Child{})
	if err != nil || same.Digest() != parent.Digest() {
		t.Errorf("a child that asks for nothing differs: %v", err)
	}
}
