package pluginpb

import (
	"reflect"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/sdk/takeback"
)

func TestGrantsIntersect(t *testing.T) {
	for name, test := range map[string]struct{ a, b, want Grant }{
		"what both have": {
			Grant{Workspace: "rw", Exec: true, Network: true, State: true, Takeback: true, Env: []string{"C", "B", "A"}},
			Grant{Workspace: "ro", Network: true, Takeback: true, Env: []string{"B", "C", "D"}},
			Grant{Workspace: "ro", Network: true, Takeback: true, Env: []string{"B", "C"}},
		},
		"what only one has": {
			Grant{State: true, Takeback: true}, Grant{Workspace: "none"}, Grant{Workspace: "none"},
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

// What is put on the wire comes off it again, but for programs.
func TestGrantsOnTheWire(t *testing.T) {
	g := Grant{Workspace: "rw", Exec: true, Network: true, State: true, Takeback: true, Env: []string{"A"}}
	if got := NewGrants(g).Grant(); !reflect.DeepEqual(got, g) {
		t.Errorf("%+v came as %+v", g, got)
	}
}

func TestLimitsComeOffTheWireAsTheyWentOn(t *testing.T) {
	want := limits.Limits{Processes: 1, Memory: 2, CPU: 3 * time.Second, FileSize: 4, OpenFiles: 5}
	if got := NewExecLimits(want).Limits(); got != want {
		t.Errorf("%+v came as %+v", want, got)
	}
	if got := (*ExecLimits)(nil).Limits(); got != (limits.Limits{}) {
		t.Errorf("no limits came as %+v", got)
	}
}

func TestTheStoreComesOffTheWireAsItWentOn(t *testing.T) {
	want := takeback.Options{Dir: "/a", MaxBytes: 1, MaxAge: 2 * time.Hour}
	if got := NewTakeback(want).Options(); got != want {
		t.Errorf("%+v came as %+v", want, got)
	}
	if got := (*Takeback)(nil).Options(); got != (takeback.Options{}) {
		t.Errorf("no store came as %+v", got)
	}
}

func TestProgramName(t *testing.T) {
	for goos, want := range map[string]string{"linux": "grep", "darwin": "grep", "windows": "grep.exe"} {
		if got := ProgramName("grep", goos); got != want {
			t.Errorf("%s: %s, not %s", goos, got, want)
		}
	}
}
