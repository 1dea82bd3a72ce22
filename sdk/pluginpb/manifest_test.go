package pluginpb

import (
	"maps"
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
		if got := PluginProgramName("grep", goos); got != want {
			t.Errorf("%s: %s, not %s", goos, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "a-1_b": true, "": false, "1a": false, "_a": false, "A": false, "a.b": false,
		"aé": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if err := CheckPluginID(id); (err == nil) != want {
			t.Errorf("%q: %v", id, err)
		}
	}
	tool := ToolSpec{Name: "a-b", Doc: "d"}
	if err := tool.validate(); err == nil || !strings.Contains(err.Error(), "tool name") {
		t.Error(err)
	}
}

func TestURITemplate(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          map[string]string // nil for no match
	}{
		{"notes://today", "notes://today", map[string]string{}},
		{"notes://today", "notes://today/x", nil},
		{"notes://{name}", "notes://a%2Fb", map[string]string{"name": "a/b"}},
		{"notes://{name}", "notes://a/b", nil},
		{"notes://{name}", "notes://a\nb", map[string]string{"name": "a\nb"}},
		{"file:///{+path}", "file:///a/b?c", map[string]string{"path": "a/b?c"}},
		{"n://{a}/{b}", "n://1/2", map[string]string{"a": "1", "b": "2"}},
		{"n://{a}/{a}", "n://1/2", nil},
		{"n://{a}", "n://%zz", nil},
		{"n.x://{a}", "nyx://1", nil},
	} {
		template, err := ParseURITemplate(c.template)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := template.MatchURI(c.uri)
		if ok != (c.want != nil) || ok && !maps.Equal(got, c.want) {
			t.Errorf("%s matches %s: got %v, %v, want %v", c.template, c.uri, got, ok, c.want)
		}
		if again, _ := template.MatchURI(template.ExpandURI(got)); ok && !maps.Equal(again, got) {
			t.Errorf("%s expands to %s", c.template, template.ExpandURI(got))
		}
	}
	for _, text := range []string{"", "notes", "{scheme}://a", "n://{?q}", "n://{a*}", "n://{a", "n://}", "n://" + strings.Repeat("x", maxURI)} {
		if _, err := ParseURITemplate(text); err == nil {
			t.Errorf("%q is taken for a template", text)
		}
	}
}
