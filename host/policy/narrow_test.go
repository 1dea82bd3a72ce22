package policy

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNarrowRefusesWiderDirectories(t *testing.T) {
	parent := must(t, `{}`)
	outside := filepath.Dir(filepath.Dir(parent.WorkspacePath()))
	for name, child := range map[string]Restriction{
		"workspace outside": {Workspace: outside},
		"workspace beside":  {Workspace: parent.WorkspacePath() + "2"},
		"missing workspace": {Workspace: "missing"},
		"path outside":      {Paths: []string{parent.WorkspacePath(), outside}},
		"no path":           {Paths: []string{}},
	} {
		if got, err := parent.NarrowPolicy(child); err == nil {
			t.Errorf("%s: a child gets %+v", name, got.GuardPolicy())
		} else if !strings.Contains(err.Error(), "main") {
			t.Errorf("%s: the error does not name the agent: %v", name, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	parent := must(t, `{}`)
	sub := filepath.Join(parent.WorkspacePath(), "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	child, err := parent.NarrowPolicy(Restriction{Workspace: "sub", Paths: []string{"sub"}})
	if err != nil {
		t.Fatal(err)
	}
	if g := child.GuardPolicy(); g.Workspace != sub || len(g.Paths) != 1 || g.Paths[0] != sub {
		t.Errorf("the child's policy is %+v", g)
	}
	if g := parent.GuardPolicy(); g.Workspace == sub || g.Paths != nil {
		t.Errorf("narrowing changed the parent to %+v", g)
	}
	if _, err := child.NarrowPolicy(Restriction{Workspace: parent.WorkspacePath()}); err == nil {
		t.Error("a grandchild has the grandparent's workspace")
	}
	same, err := parent.NarrowPolicy(Restriction{})
	if err != nil || same.Digest() != parent.Digest() {
		t.Errorf("a child that asks for nothing differs: %v", err)
	}
}

// A child works by the name of its parent's workspace, and one of another directory by its own.
func TestNarrowKeepsNameOfWorkspace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "link", "ws")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "real", "ws", "sub"), 0o755), os.Symlink("real", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	parent := must(t, `{"agents": {"defaults": {"workspace": "`+filepath.ToSlash(name)+`"}}}`)
	child, err := parent.NarrowPolicy(Restriction{Workspace: filepath.Join(name, "sub")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{parent.GuardPolicy().WorkspaceName, name}, {child.GuardPolicy().WorkspaceName, filepath.Join(name, "sub")},
		{child.PathSymlinks()[filepath.Join(dir, "link")], filepath.Join(dir, "real")},
	} {
		if c.name != c.want {
			t.Errorf("%q, not %q", c.name, c.want)
		}
	}
}

func TestNarrowingCanBeReapplied(t *testing.T) {
	parent := must(t, `{}`)
	mkdir := func(names ...string) {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(parent.WorkspacePath(), name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir("a/b", "c")
	for name, steps := range map[string][]Restriction{
		"one directory":       {{Workspace: "a", Paths: []string{"a"}}},
		"two":                 {{Paths: []string{"a", "c"}}},
		"a workspace":         {{Workspace: "a"}},
		"deeper":              {{Workspace: "a", Paths: []string{"a"}}, {Paths: []string{"b"}}},
		"deeper by workspace": {{Paths: []string{"a", "c"}}, {Workspace: "a/b"}},
	} {
		child := parent
		for _, step := range steps {
			var err error
			if child, err = child.NarrowPolicy(step); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		again, err := parent.NarrowPolicy(child.Restriction())
		if err != nil || again.Digest() != child.Digest() || !reflect.DeepEqual(again.Restriction(), child.Restriction()) {
			t.Errorf("%s: again it is %+v, %v; want %+v", name, again, err, child)
		}
		like, err := parent.WithRestrictionsOf(child)
		if err != nil || !child.Restriction().Includes(like.Restriction()) || parent.Restriction().allowedDirs() != nil {
			t.Errorf("%s: like it is %+v, %v", name, like, err)
		}
	}
	child, err := parent.NarrowPolicy(Restriction{Workspace: "a", Paths: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	inside := must(t, `{"agents": {"defaults": {"workspace": "`+filepath.Join(parent.WorkspacePath(), "a/b")+`"}}}`)
	if like, err := inside.WithRestrictionsOf(child); err != nil || like.WorkspacePath() != inside.WorkspacePath() ||
		!slices.Equal(like.GuardPolicy().Paths, []string{inside.WorkspacePath()}) {
		t.Errorf("an agent inside: %+v, %v", like, err)
	}
	if like, err := must(t, `{}`).WithRestrictionsOf(child); err == nil {
		t.Errorf("an agent elsewhere: %+v", like.GuardPolicy())
	}
}

func TestNarrowingIncludes(t *testing.T) {
	whole, a, ab := Restriction{}, Restriction{Workspace: "/w/a", Paths: []string{"/w/a"}}, Restriction{Workspace: "/w/a/b"}
	two, like := Restriction{Paths: []string{"/w/a/b", "/w/c"}}, Restriction{Paths: []string{"/w/ab"}}
	for i, c := range []struct {
		c, other Restriction
		want     bool
	}{
		{whole, whole, true}, {whole, a, true}, {a, whole, false}, {a, a, true}, {a, ab, true}, {ab, a, false},
		{a, two, false}, {two, ab, true}, {two, whole, false}, {a, like, false}, {ab, Restriction{Paths: []string{"/w/a/b/c"}}, true},
	} {
		if got := c.c.Includes(c.other); got != c.want {
			t.Errorf("%d: %+v covers %+v: %t", i, c.c, c.other, got)
		}
	}
}
