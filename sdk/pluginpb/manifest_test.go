package pluginpb

import (
	"reflect"
	"strings"
	"testing"
)

func TestGrantsIntersect(t *testing.T) {
	for name, test := range map[string]struct{ a, b, want Grant }{
		"what both have": {
			Grant{Workspace: "rw", Exec: true, Network: true, State: true, Takeback: true, Env: []string{"C", "B", "A"}},
			Grant{Workspace: "ro", Network: true, Takeback: true, Env: []string{"B", "C", "D"}},
			Grant{Workspace: "ro", Network: true, Takeback: true, Env: []string{"B", "C"}},
		},
		"what only one has": {
			Grant{Workspace: "rw", Exec: true, Network: true, State: true, Takeback: true, Env: []string{"A"}, Secrets: []string{"B"}},
			Grant{Workspace: "none"}, Grant{Workspace: "none"},
		},
		"nothing":      {Grant{}, Grant{Workspace: "rw", Exec: true}, Grant{Workspace: "none"}},
		"no such word": {Grant{Workspace: "rwx"}, Grant{Workspace: "rw"}, Grant{Workspace: "none"}},
		"all programs and some": {
			Grant{Exec: true}, Grant{Exec: true, Programs: []string{"rg", "git"}},
			Grant{Workspace: "none", Exec: true, Programs: []string{"git", "rg"}},
		},
		"programs of which one is common": {
			Grant{Exec: true, Programs: []string{"rg", "ls"}}, Grant{Exec: true, Programs: []string{"git", "rg"}},
			Grant{Workspace: "none", Exec: true, Programs: []string{"rg"}},
		},
		"programs of which none is common": {
			Grant{Exec: true, Programs: []string{"ls"}}, Grant{Exec: true, Programs: []string{"git"}},
			Grant{Workspace: "none"},
		},
	} {
		if got := test.a.Intersect(test.b); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if got := test.b.Intersect(test.a); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s, the other way round: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestProgramName(t *testing.T) {
	for goos, want := range map[string]string{"linux": "grep", "darwin": "grep", "windows": "grep.exe"} {
		if got := ProgramName("grep", goos); got != want {
			t.Errorf("%s: %s, not %s", goos, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "a-1_b": true, "": false, "1a": false, "_a": false, "A": false, "a.b": false,
		"aé": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if err := CheckID(id); (err == nil) != want {
			t.Errorf("%q: %v", id, err)
		}
	}
	tool := Spec{Name: "a-b", Doc: "d"}
	if err := tool.validate(); err == nil || !strings.Contains(err.Error(), "tool name") {
		t.Error(err)
	}
}
