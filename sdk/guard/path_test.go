package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// workspace makes a workspace beside a canary directory and returns both, links resolved.
func workspace(t *testing.T) (ws, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, outside = filepath.Join(top, "w"), filepath.Join(top, "w2")
	for _, dir := range []string{filepath.Join(ws, "sub"), filepath.Join(outside, "deep")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(ws, "a.txt"), filepath.Join(outside, "canary")} {
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ws, outside
}

func mustNew(t testing.TB, p Policy) *Guard {
	t.Helper()
	g, err := NewGuard(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestPathLexical(t *testing.T) {
	ws, outside := workspace(t)
	g := mustNew(t, Policy{Workspace: ws, Restrict: true})
	for _, path := range []string{
		filepath.Join(outside, "canary"), "../w2/canary", "nope/../../w2/canary", ws + "/../w2/canary", ws + "2/canary",
		"..", "/", "sub/../..", "/etc/passwd", "/proc/self/root/etc/passwd", "/proc/self/cwd/../x", "/dev/fd/3", "/dev/null",
	} {
		for _, a := range []AccessKind{Read, Write, List, Delete} {
			d := g.DecidePath(a, path)
			if d.Verdict != Deny || d.Rule != "workspace.outside" ||
				d.Reason != "access denied: path is outside the workspace" || d.Hint == "" {
				t.Errorf("%s %s: %+v", a, path, d)
			}
		}
	}
	for path, want := range map[string]string{
		"a.txt": "a.txt", ".": "", "sub/../a.txt": "a.txt", "...": "...", "~": "~", "~root/x": "~root/x",
		"%2e%2e/x": "%2e%2e/x", "file:///etc/passwd": "file:/etc/passwd", "new/dir/file": "new/dir/file",
		ws + "/a.txt": "a.txt", "a.txt/below": "a.txt/below", " ": " ", "-rf": "-rf", "a\nb": "a\nb",
	} {
		d := g.DecidePath(Read, path)
		if d.Verdict != Allow || d.Path != filepath.Join(ws, want) || d.Rule != "" || d.Hint != "" {
			t.Errorf("%q: %+v", path, d)
		}
	}
}

func TestPathMalformed(t *testing.T) {
	ws, _ := workspace(t)
	g := mustNew(t, Policy{Workspace: ws, Restrict: true})
	for path, want := range map[string]string{
		"":                        "path is empty",
		"a\x00b":                  "NUL",
		strings.Repeat("a", 5000): "5000 bytes",
		strings.Repeat("b", 300):  "longer than this system takes",
	} {
		if d := g.DecidePath(Read, path); d.Verdict != Deny || !strings.Contains(d.Reason, want) {
			t.Errorf("%.20q: %+v", path, d)
		}
	}
}

func TestPathSymlinks(t *testing.T) {
	ws, outside := workspace(t)
	g := mustNew(t, Policy{Workspace: ws, Restrict: true})
	link(t, filepath.Join(outside, "canary"), filepath.Join(ws, "file"))
	link(t, outside, filepath.Join(ws, "dir"))
	link(t, "file", filepath.Join(ws, "chain"))
	link(t, "../w2/canary", filepath.Join(ws, "relative"))
	link(t, filepath.Join(outside, "not-yet"), filepath.Join(ws, "dangling"))
	link(t, filepath.Join(outside, "deep"), filepath.Join(ws, "deep"))
	link(t, "loop", filepath.Join(ws, "loop"))
	link(t, filepath.Join(ws, "a.txt"), filepath.Join(ws, "good"))
	link(t, "sub", filepath.Join(ws, "goodsub"))
	// deep/../canary is ws/canary as it is written, and outside/canary for the kernel.
	for _, path := range []string{"file", "dir", "dir/", "dir/.", "dir/canary", "chain", "relative", "dangling",
		"dir/new/x", "deep/../canary"} {
		itself := !strings.Contains(path, "/")
		for _, a := range []AccessKind{Read, Write, List, Delete} {
			d := g.DecidePath(a, path)
			if a == Delete && itself { // the link is what goes, and it is in the workspace
				if want := filepath.Join(ws, path); d.Verdict != Allow || d.Path != want {
					t.Errorf("delete %s: %+v", path, d)
				}
				continue
			}
			if d.Verdict != Deny || d.Rule != "workspace.symlink" ||
				d.Reason != "access denied: symlink resolves outside workspace" {
				t.Errorf("%s %s: %+v", a, path, d)
			}
		}
	}
	if d := g.DecidePath(Read, "loop/x"); d.Verdict != Deny || d.Rule != "path.unresolved" {
		t.Errorf("loop: %+v", d)
	}
	for path, want := range map[string]bool{"loop": true, "sub/../loop": true, "loop/": false, "loop/x": false,
		"loop/.": false} {
		if d := g.DecidePath(Delete, path); (d.Verdict == Allow) != want || want && d.Path != filepath.Join(ws, "loop") {
			t.Errorf("delete %s: %+v", path, d)
		}
	}
	if d := g.DecidePath(Write, "good"); d.Verdict != Allow || d.Path != filepath.Join(ws, "a.txt") {
		t.Errorf("link inside: %+v", d)
	}
	if d := g.DecidePath(Delete, "good"); d.Verdict != Allow || d.Path != filepath.Join(ws, "good") {
		t.Errorf("deleting a link deletes the link: %+v", d)
	}
	if d := g.DecidePath(Write, "goodsub/new"); d.Verdict != Allow || d.Path != filepath.Join(ws, "sub/new") {
		t.Errorf("directory link inside: %+v", d)
	}
}

func TestPathWorkspaceNamedByLink(t *testing.T) {
	ws, outside := workspace(t)
	name := filepath.Join(outside, "named")
	link(t, ws, name)
	g := mustNew(t, Policy{Workspace: name, Restrict: true})
	for _, path := range []string{"a.txt", name + "/a.txt", ws + "/a.txt"} {
		if d := g.DecidePath(Read, path); d.Verdict != Allow || d.Path != filepath.Join(ws, "a.txt") {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

func TestPathDeleteRoot(t *testing.T) {
	ws, _ := workspace(t)
	for _, restrict := range []bool{true, false} {
		g := mustNew(t, Policy{Workspace: ws, Restrict: restrict})
		for _, path := range []string{".", "sub/..", ws, ws + "/"} {
			if d := g.DecidePath(Delete, path); d.Verdict != Deny || d.Rule != "workspace.root" {
				t.Errorf("restrict %v, %s: %+v", restrict, path, d)
			}
		}
		if d := g.DecidePath(Delete, "sub"); d.Verdict != Allow {
			t.Errorf("sub: %+v", d)
		}
	}
	g := mustNew(t, Policy{Workspace: ws})
	if d := g.DecidePath(Delete, filepath.Dir(ws)); d.Rule != "workspace.root" {
		t.Errorf("the directory above: %+v", d)
	}
}

func TestPathWhitelists(t *testing.T) {
	ws, outside := workspace(t)
	link(t, "/etc/passwd", filepath.Join(outside, "deep", "leak"))
	link(t, "deep", filepath.Join(outside, "alias"))
	g := mustNew(t, Policy{Workspace: ws, Restrict: true,
		AllowReadPaths:  []string{"^" + outside + "/deep", "^" + outside + "/alias/x$", "^/dev/zero$"},
		AllowWritePaths: []string{"^" + outside + "/out/.*\\.txt$"}})
	cases := []struct {
		access AccessKind
		path   string
		allow  bool
	}{
		{Read, "/deep/file", true}, {List, "/deep", true}, {Read, "/deeper", true}, // searched, not anchored
		{Write, "/deep/file", false}, {Delete, "/deep/file", false},
		{Read, "/deep/leak", false}, // a link out of the whitelisted directory
		{Read, "/alias/x", true},    // resolves to deep/x, which is whitelisted
		{Write, "/out/a.txt", true}, {Delete, "/out/a.txt", true}, {Read, "/out/a.txt", false},
		{Write, "/out/a.bin", false}, {Write, "/out/../canary.txt", false},
	}
	for _, c := range cases {
		if d := g.DecidePath(c.access, outside+c.path); (d.Verdict == Allow) != c.allow {
			t.Errorf("%s %s: %+v", c.access, c.path, d)
		}
	}
	before := mustNew(t, Policy{Workspace: ws, Restrict: true, AllowReadPaths: []string{"^" + outside + "/alias/x$"}})
	if d := before.DecidePath(Read, outside+"/alias/x"); d.Verdict != Deny {
		t.Errorf("a pattern that matches only before the links are resolved opened the path: %+v", d)
	}
	anywhere := mustNew(t, Policy{Workspace: ws, Restrict: true, AllowReadOutside: true})
	if d := anywhere.DecidePath(Read, outside+"/canary"); d.Verdict != Allow {
		t.Errorf("allow_read_outside_workspace: %+v", d)
	}
	if d := anywhere.DecidePath(Write, outside+"/canary"); d.Verdict != Deny {
		t.Errorf("allow_read_outside_workspace opened writing: %+v", d)
	}
}

func TestPathHints(t *testing.T) {
	g := mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true})
	for access, want := range map[AccessKind]string{
		Read: `add "^/nowhere/a\\.b$" to tools.allow_read_paths`, List: `add "^/nowhere/a\\.b$" to tools.allow_read_paths`,
		Write:  `add "^/nowhere/a\\.b$" to tools.allow_write_paths`,
		Delete: `add "^/nowhere/a\\.b$" to tools.allow_write_paths`,
	} {
		if d := g.DecidePath(access, "/nowhere/a.b"); d.Hint != want {
			t.Errorf("%s: hint %s, want %s", access, d.Hint, want)
		}
	}
}

// A setting that names a process would open another's files at the next call, or none.
func TestPathOfAProcessHasNoSetting(t *testing.T) {
	g := mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true})
	for _, path := range []string{"/proc/self/environ", "/proc/1/environ", "/proc/thread-self/maps"} {
		if d := g.DecidePath(Read, path); d.Verdict != Deny || strings.Contains(d.Hint, "allow_read_paths") {
			t.Errorf("%s: %+v", path, d)
		}
	}
	if d := g.DecidePath(Read, "/proc/version"); !strings.Contains(d.Hint, "allow_read_paths") {
		t.Errorf("/proc/version: %+v", d)
	}
}

func TestPathConstraint(t *testing.T) {
	ws, outside := workspace(t)
	link(t, "../a.txt", filepath.Join(ws, "sub", "up"))
	for _, restrict := range []bool{true, false} {
		g := mustNew(t, Policy{Workspace: ws, Restrict: restrict, Paths: []string{filepath.Join(ws, "sub"), outside}})
		d := g.DecidePath(Read, "/etc/passwd")
		if d.Verdict != Deny || d.Rule != "constraint.paths" || d.Reason != "Path '/etc/passwd' is outside allowed paths" {
			t.Errorf("%+v", d)
		}
		for _, path := range []string{"a.txt", "sub/up", "sub2", "../w3", "a\nb"} {
			if d := g.DecidePath(Read, path); d.Verdict != Deny || d.Rule != "constraint.paths" || strings.Contains(d.Reason, "\n") {
				t.Errorf("%s: %+v", path, d)
			}
		}
		if d := g.DecidePath(Read, "sub/x"); d.Verdict != Allow {
			t.Errorf("sub/x: %+v", d)
		}
		if d := g.DecidePath(Read, outside+"/canary"); (d.Verdict == Allow) == restrict {
			t.Errorf("a constraint must narrow and not widen: restrict %v: %+v", restrict, d)
		}
	}
}

func TestPathWithJudgedContent(t *testing.T) {
	ws, _ := workspace(t)
	for unwatched, want := range map[bool]Verdict{false: Allow, true: Ask} {
		g := mustNew(t, Policy{Workspace: ws, Restrict: true, Unwatched: unwatched, WorkspaceDeny: []string{".git"},
			WorkspaceAsk: []string{".git/config", ".gitmodules", ".git/info/attributes"}})
		for _, path := range []string{".git/config", ".gitmodules", ".git/info/attributes"} {
			if d := g.DecidePath(Write, path); d.Verdict != want {
				t.Errorf("unwatched %v: %s: %+v", unwatched, path, d)
			}
		}
		if d := g.DecidePath(Write, "a.txt"); d.Verdict != Allow {
			t.Errorf("a.txt: %+v", d)
		}
	}
}

func TestPathUnrestricted(t *testing.T) {
	ws, outside := workspace(t)
	g := mustNew(t, Policy{Workspace: ws})
	if d := g.DecidePath(Write, "../w2/canary"); d.Verdict != Allow || d.Path != filepath.Join(outside, "canary") {
		t.Errorf("%+v", d)
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		want   []string
	}{
		{Policy{}, []string{"workspace", "not an absolute path"}},
		{Policy{Workspace: "w"}, []string{`"w"`, "not an absolute path"}},
		{Policy{Workspace: "/w", AllowReadPaths: []string{"^/ok$", "(bad"}}, []string{"tools.allow_read_paths", `"(bad"`}},
		{Policy{Workspace: "/w", AllowWritePaths: []string{"[z-a]"}}, []string{"tools.allow_write_paths", `"[z-a]"`}},
		{Policy{Workspace: "/w", Exec: ExecPolicy{CustomDeny: []string{`\`}}}, []string{"tools.exec.custom_deny_patterns"}},
		{Policy{Workspace: "/w", Exec: ExecPolicy{CustomAllow: []string{`a)(?:b`}}},
			[]string{"tools.exec.custom_allow_patterns", `"a)(?:b"`}},
		{Policy{Workspace: "/w", Exec: ExecPolicy{CustomDeny: []string{""}}}, []string{"custom_deny_patterns", "empty"}},
		{Policy{Workspace: "/w", Exec: ExecPolicy{Profile: "strict"}},
			[]string{"tools.exec.profile", `"strict"`, "seed_strict"}},
		{Policy{Workspace: "/w", Paths: []string{"rel"}}, []string{"constraints.paths", `"rel"`}},
	} {
		_, err := NewGuard(c.policy)
		if err == nil {
			t.Errorf("%+v: no error", c.policy)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q doesn't say %q", err, want)
			}
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a", "../x", "/etc/passwd", "a/../../b", "\x00", "~", "...//..", "/proc/self/root/x"} {
		f.Add(seed)
	}
	ws := f.TempDir()
	g := mustNew(f, Policy{Workspace: ws, Restrict: true})
	real, err := filepath.EvalSymlinks(ws)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		d := g.DecidePath(Read, path)
		if d.Verdict == Allow && d.Path != real && !strings.HasPrefix(d.Path, real+"/") {
			t.Errorf("%q was allowed as %q", path, d.Path)
		}
		if strings.ContainsAny(d.Reason, "\n\x00\x1b") {
			t.Errorf("%q: the reason can forge a line: %q", path, d.Reason)
		}
	})
}
