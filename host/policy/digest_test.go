package policy

import (
	"os"
	"path/filepath"
	"testing"
)

// digests resolves each text with the same home and workspace, and returns the digests.
func digests(t *testing.T, texts ...string) []string {
	t.Helper()
	home := tempHome(t)
	var out []string
	for _, text := range texts {
		p, err := resolveIn(t, home, text, "")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.Digest())
	}
	return out
}

func TestDigestIgnoresExplanations(t *testing.T) {
	for _, same := range [][2]string{
		{`{}`, `{"tools": {"set": "picoclaw", "exec": {"timeout_seconds": 60}}}`},
		{`{"tools": {"disabled": ["a", "b"]}}`, `{"tools": {"disabled": ["b", "a", "b"]}}`},
		{`{"tools": {"allow_read_paths": ["^/a$", "^/b$"]}}`, `{"tools": {"allow_read_paths": ["^/b$", "^/a$"]}}`},
		{`{"isolation": {"expose_paths": [{"source": "/a"}, {"source": "/b"}]}}`,
			`{"isolation": {"expose_paths": [{"source": "/b"}, {"source": "/a", "mode": "ro"}]}}`},
		{`{"tools": {"set": "all"}}`, `{"agents": {"agents": [{"id": "other", "tools": {"set": "all"}}]}}`},
	} {
		if d := digests(t, same[0], same[1]); d[0] != d[1] {
			t.Errorf("%s and %s have different digests", same[0], same[1])
		}
	}
}

func TestDigestCoversPermissions(t *testing.T) {
	texts := []string{
		`{}`,
		`{"agents": {"defaults": {"restrict_to_workspace": false}}}`,
		`{"agents": {"defaults": {"allow_read_outside_workspace": true}}}`,
		`{"tools": {"set": "module"}}`,
		`{"tools": {"enabled": ["a"]}}`,
		`{"tools": {"disabled": ["a"]}}`,
		`{"tools": {"allow_read_paths": ["a"]}}`,
		`{"tools": {"allow_write_paths": ["a"]}}`,
		`{"tools": {"exec": {"enable_deny_patterns": false}}}`,
		`{"tools": {"exec": {"custom_deny_patterns": ["a"]}}}`,
		`{"tools": {"exec": {"custom_allow_patterns": ["a"]}}}`,
		`{"tools": {"exec": {"profile": "seed_strict"}}}`,
		`{"tools": {"exec": {"timeout_seconds": 61}}}`,
		`{"tools": {"exec": {"env": ["A"]}}}`,
		`{"tools": {"cron": {"exec_timeout_minutes": 6}}}`,
		`{"isolation": {"enabled": true}}`,
		`{"isolation": {"network": false}}`,
		`{"isolation": {"expose_paths": [{"source": "/a"}]}}`,
		`{"isolation": {"expose_paths": [{"source": "/a", "mode": "rw"}]}}`,
		`{"plugins": {"p": {"enabled": false}}}`,
		`{"plugins": {"p": {"grants": {"exec": true}}}}`,
		`{"plugins": {"p": {"config": {"a": 1}}}}`,
		`{"plugins": {"p": {"dev": "/a"}}}`,
		`{"agents": {"agents": [{"id": "main", "plugins": {"disabled": ["a"]}}]}}`,
		`{"agents": {"agents": [{"id": "main", "modules": [{"module": "filesystem"}]}]}}`,
		`{"agents": {"agents": [{"id": "main", "modules": [{"module": "filesystem", "actions": ["read"]}]}]}}`,
		`{"agents": {"agents": [{"id": "main", "modules": [{"module": "filesystem", "constraints": {"max_file_size": 1}}]}]}}`,
		`{"agents": {"agents": [{"id": "main", "modules": [{"module": "filesystem", "constraints": {"paths": ["{{workspace}}"]}}]}]}}`,
	}
	seen := map[string]string{}
	for i, digest := range digests(t, texts...) {
		if other, twice := seen[digest]; twice {
			t.Errorf("%s and %s have the same digest", other, texts[i])
		}
		seen[digest] = texts[i]
	}
}

func TestModuleConstraints(t *testing.T) {
	home := tempHome(t)
	if err := os.MkdirAll(filepath.Join(home, "workspace", "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src", filepath.Join(home, "workspace", "link")); err != nil {
		t.Fatal(err)
	}
	resolve := func(module string) *Policy {
		p, err := resolveIn(t, home, `{"agents": {"agents": [{"id": "main"`+module+`}]}}`, "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	workspace := filepath.Join(home, "workspace")
	g := resolve(`, "modules": [{"module": "filesystem", "constraints": {"paths": ["{{workspace}}", "{{workspace}}/link/new", "/etc"], "max_file_size": "50MB"}}]`).GuardPolicy()
	want := []string{workspace, filepath.Join(workspace, "src", "new"), "/etc"}
	if len(g.Paths) != 3 || g.Paths[0] != want[0] || g.Paths[1] != want[1] || g.Paths[2] != want[2] ||
		g.MaxFileSize != 50<<20 {
		t.Errorf("the constraints are %v and %d; want %v", g.Paths, g.MaxFileSize, want)
	}
	if g := resolve(`, "modules": [{"module": "filesystem"}]`).GuardPolicy(); g.MaxFileSize != 100<<20 || g.Paths != nil {
		t.Errorf("a module without constraints has %v and %d", g.Paths, g.MaxFileSize)
	}
	if g := resolve(``).GuardPolicy(); g.MaxFileSize != 0 || g.Paths != nil {
		t.Errorf("an agent without modules has %v and %d", g.Paths, g.MaxFileSize)
	}
}
