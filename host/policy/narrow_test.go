package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNarrowRefusesWiderDirectories(t *testing.T) {
	parent := must(t, `{}`)
	outside := filepath.Dir(filepath.Dir(parent.Workspace()))
	for name, child := range map[string]Child{
		"workspace outside": {Workspace: outside},
		"workspace beside":  {Workspace: parent.Workspace() + "2"},
		"missing workspace": {Workspace: "missing"},
		"path outside":      {Paths: []string{parent.Workspace(), outside}},
		"no path":           {Paths: []string{}},
	} {
		if got, err := parent.Narrow(child); err == nil {
			t.Errorf("%s: a child gets %+v", name, got.Guard())
		} else if !strings.Contains(err.Error(), "main") {
			t.Errorf("%s: the error does not name the agent: %v", name, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	parent := must(t, `{}`)
	sub := filepath.Join(parent.Workspace(), "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	child, err := parent.Narrow(Child{Workspace: "sub", Paths: []string{"sub"}})
	if err != nil {
		t.Fatal(err)
	}
	if g := child.Guard(); g.Workspace != sub || len(g.Paths) != 1 || g.Paths[0] != sub {
		t.Errorf("the child's policy is %+v", g)
	}
	if g := parent.Guard(); g.Workspace == sub || g.Paths != nil {
		t.Errorf("narrowing changed the parent to %+v", g)
	}
	if _, err := child.Narrow(Child{Workspace: parent.Workspace()}); err == nil {
		t.Error("a grandchild has the grandparent's workspace")
	}
	same, err := parent.Narrow(Child{})
	if err != nil || same.Digest() != parent.Digest() {
		t.Errorf("a child that asks for nothing differs: %v", err)
	}
}
