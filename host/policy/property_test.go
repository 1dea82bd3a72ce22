package policy

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// world is a file system for random policies, and the questions that are asked of them.
type world struct {
	home, outside string
	paths         []string
	patterns      []string // for whitelists
	dirs          []string // for workspaces and constraints
	rng           *rand.Rand
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := tempHome(t)
	w := &world{home: filepath.Join(root, "home"), outside: filepath.Join(root, "outside"),
		rng: rand.New(rand.NewPCG(3, 4))}
	ws := filepath.Join(w.home, "workspace")
	for _, dir := range []string{filepath.Join(ws, "sub"), filepath.Join(w.outside, "deep")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{ws + "/a", ws + "/sub/b", w.outside + "/x", w.outside + "/deep/y", w.home + "/state"} {
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(w.outside, ws+"/link"); err != nil {
		t.Fatal(err)
	}
	w.paths = []string{
		ws, ws + "/a", ws + "/sub", ws + "/sub/b", ws + "/sub/new", ws + "/link/x", ws + "/link/deep/new", w.outside,
		w.outside + "/x",
		w.outside + "/deep/y", w.outside + "/xx", root, "/", "/etc/hosts", "/etc/passwd", w.home, w.home + "/config.json",
		w.home + "/state",
	}
	w.patterns = []string{
		"^" + w.outside + "/x$", "^" + w.outside + "/x", "^" + w.outside + "/.*", "^" + w.outside, "deep", ".*",
		"^/etc/hosts$", "^/etc/.*",
		"^/(?i)ETC/hosts$", "^" + root + "/.*",
	}
	w.dirs = []string{ws, ws + "/sub", w.outside, w.outside + "/deep", root, "/"}
	return w
}

// some returns some elements of from; often none.
func some[T any](w *world, from []T) []T {
	out := []T{}
	for _, v := range from {
		if w.rng.IntN(4) == 0 {
			out = append(out, v)
		}
	}
	return out
}

func (w *world) flip() bool { return w.rng.IntN(2) == 0 }

// policy resolves a random configuration.
func (w *world) policy(t *testing.T) *Policy {
	t.Helper()
	set := []string{"picoclaw", "module", "all"}
	agent := map[string]any{
		"id":                           "main",
		"restrict_to_workspace":        w.rng.IntN(4) > 0,
		"allow_read_outside_workspace": w.rng.IntN(4) == 0,
		"plugins":                      map[string]any{"disabled": some(w, []string{"grep", "s*"})},
		"isolation":                    map[string]any{"network": w.flip()},
		"tools": map[string]any{
			"set": set[w.rng.IntN(3)], "enabled": some(w, []string{"read_file", "*_file", "shell.*", "r*"}),
			"disabled":         some(w, []string{"exec", "write*"}),
			"allow_read_paths": some(w, w.patterns), "allow_write_paths": some(w, w.patterns),
			"exec": map[string]any{"enable_deny_patterns": w.flip(), "custom_allow_patterns": some(w, allowPatterns),
				"custom_deny_patterns": some(w, []string{"git"}), "env": some(w, []string{"A", "B"})},
		},
	}
	if w.rng.IntN(3) == 0 {
		agent["modules"] = []any{map[string]any{"module": "filesystem", "actions": some(w, []string{"read", "write", "ls"}),
			"constraints": map[string]any{"paths": some(w, w.dirs), "max_file_size": "1MB"}}}
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"agents": []any{agent}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := resolveIn(t, w.home, string(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var allowPatterns = []string{"sudo ls", "rm -rf .*"}

// child returns a random request, which is not always inside the parent's directories.
func (w *world) child() Restriction {
	var c Restriction
	if w.flip() {
		c.Workspace = w.dirs[w.rng.IntN(len(w.dirs))]
	}
	if w.flip() {
		c.Paths = append(some(w, w.dirs), w.dirs[w.rng.IntN(len(w.dirs))])
	}
	if w.flip() {
		c.Tools = [][]string{{"read_*", "*.exec"}, {"*e*"}}[w.rng.IntN(2):]
	}
	return c
}

// kernelAccess is what k gives at path, in words that are in order by their letters: the deepest of its paths decides,
// and hidden paths go before open ones.
func kernelAccess(k KernelLayerPaths, path string) string {
	access, depth := "none", -1
	for _, list := range []struct {
		paths []string
		gives string
	}{{k.Hidden, "none"}, {k.ReadOnly, "ro"}, {k.ReadWrite, "rw"}} {
		for _, open := range list.paths {
			if paths.Within(open, path) && len(open) > depth {
				access, depth = list.gives, len(open)
			}
		}
	}
	return access
}

var accesses = map[guard.AccessKind]string{guard.Read: "ro", guard.List: "ro", guard.Write: "rw", guard.Delete: "rw"}

func TestKernelPathsCoverGuard(t *testing.T) {
	w := newWorld(t)
	allowed := 0
	for range 150 {
		p := w.policy(t)
		g, err := guard.NewGuard(p.GuardPolicy())
		if err != nil {
			t.Fatal(err)
		}
		k := p.KernelPaths()
		for access, needs := range accesses {
			for _, path := range w.paths {
				d := g.DecidePath(access, path)
				bound := paths.Within(w.home, d.Path) && !paths.Within(p.WorkspacePath(), d.Path)
				if d.Verdict != guard.Allow || bound && p.GuardPolicy().Restrict {
					continue
				}
				allowed++
				if kernelAccess(k, d.Path) < needs {
					t.Fatalf("the guard allows to %s %s, and the kernel does not:\npolicy %+v\nkernel %+v", access, d.Path, p.GuardPolicy(),
						k)
				}
			}
		}
		// A module's paths confine the kernel's wall too.
		for _, open := range slices.Concat(k.ReadWrite, k.ReadOnly) {
			if limits := p.GuardPolicy().Paths; len(limits) > 0 && !paths.WithinAny(limits, open) {
				t.Fatalf("the kernel opens %s, which is in none of %v", open, limits)
			}
		}
		if p.GuardPolicy().Restrict && kernelAccess(k, w.home+"/config.json") == "rw" {
			t.Fatalf("a restricted agent could write its configuration:\npolicy %+v\nkernel %+v", p.GuardPolicy(), k)
		}
	}
	if allowed < 1000 {
		t.Errorf("only %d accesses were allowed", allowed)
	}
}

func TestChildIsNeverWider(t *testing.T) {
	w := newWorld(t)
	made, refused, narrower := 0, 0, 0
	for range 50 {
		parent := w.policy(t)
		for range 25 {
			ask := w.child()
			child, err := parent.NarrowPolicy(ask)
			if err != nil {
				refused++
				continue
			}
			made++
			if child.Digest() != parent.Digest() {
				narrower++
			}
			if what := w.widerThan(t, child, parent); what != "" {
				t.Fatalf("the child may %s:\nparent %+v\nasked %+v\nchild %+v", what, parent.GuardPolicy(), ask, child.GuardPolicy())
			}
			// And so on down the generations.
			if grandchild, err := child.NarrowPolicy(w.child()); err == nil {
				if what := w.widerThan(t, grandchild, parent); what != "" {
					t.Fatalf("the grandchild may %s", what)
				}
			}
		}
	}
	if made < 100 || refused < 100 || narrower < 100 {
		t.Errorf("%d children were made, %d of them narrower, %d refused", made, narrower, refused)
	}
}

// widerThan returns something that child may and parent may not; "" when there is nothing.
func (w *world) widerThan(t *testing.T, child, parent *Policy) string {
	t.Helper()
	cg, err := guard.NewGuard(child.GuardPolicy())
	if err != nil {
		t.Fatal(err)
	}
	pg, err := guard.NewGuard(parent.GuardPolicy())
	if err != nil {
		t.Fatal(err)
	}
	ck, pk := child.KernelPaths(), parent.KernelPaths()
	for _, path := range w.paths {
		for access := range accesses {
			if access == guard.Delete && paths.Within(path, parent.WorkspacePath()) {
				continue // a session can't delete the directory that it works in, which says nothing of other sessions
			}
			if cg.DecidePath(access, path).Verdict == guard.Allow && pg.DecidePath(access, path).Verdict != guard.Allow {
				return string(access) + " " + path
			}
		}
		if c, p := kernelAccess(ck, path), kernelAccess(pk, path); c > p {
			return "have the kernel's " + c + " at " + path
		}
	}
	run := func(g *guard.Guard, command string) bool {
		return g.DecideCommand(guard.Command{Text: command, Dir: child.WorkspacePath()}).Verdict == guard.Allow
	}
	for _, command := range []string{"ls", "sudo ls", "rm -rf /", "git push", "curl x | sh"} {
		if run(cg, command) && !run(pg, command) {
			return "run " + command
		}
	}
	for _, tool := range []struct {
		plugin, name string
		sets         []string
	}{
		{"filesystem", "read_file", []string{"picoclaw"}}, {"filesystem", "write_file", []string{"picoclaw"}},
		{"filesystem", "read", []string{"module"}},
		{"filesystem", "list_dir", []string{"picoclaw"}}, {"grep", "grep", []string{"picoclaw", "module"}},
		{"shell", "exec", []string{"picoclaw"}}, {"other", "tool", nil},
	} {
		if child.AllowsTool(tool.plugin, tool.name, tool.sets) && !parent.AllowsTool(tool.plugin, tool.name, tool.sets) {
			return "use " + tool.name
		}
		c, p := child.PluginPolicy(tool.plugin).Grants, parent.PluginPolicy(tool.plugin).Grants
		if both := c.Intersect(p); both.Workspace != c.Workspace || both.Exec != c.Exec || both.Network != c.Network ||
			both.Takeback != c.Takeback || !slices.Equal(both.Env, c.Env) {
			return "be granted more through " + tool.plugin
		}
	}
	cl, pl := child.CallLimits(), parent.CallLimits()
	switch {
	case cl.ExecTimeout > pl.ExecTimeout || cl.CronTimeout > pl.CronTimeout || cl.ResultSize > pl.ResultSize:
		return "take longer"
	case child.UndoLimits() != parent.UndoLimits():
		return "have another store"
	case child.IsolationOptions().Network && !parent.IsolationOptions().Network,
		!child.IsolationOptions().Enabled && parent.IsolationOptions().Enabled:
		return "be isolated less"
	case slices.ContainsFunc(child.CommandEnvNames(), func(name string) bool { return !slices.Contains(parent.CommandEnvNames(), name) }):
		return "see more variables"
	case parent.GuardPolicy().MaxFileSize > 0 && (child.GuardPolicy().MaxFileSize == 0 ||
		child.GuardPolicy().MaxFileSize > parent.GuardPolicy().MaxFileSize):
		return "read larger files"
	}
	return ""
}
