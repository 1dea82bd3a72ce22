package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// resolveIn resolves a configuration in a home of its own.
func resolveIn(t *testing.T, home, text, agent string) (*Policy, error) {
	t.Helper()
	return ResolvePolicy(load(t, home, text), agent)
}

// load reads a configuration in a home of its own.
func load(t *testing.T, home, text string) *config.Config {
	t.Helper()
	file := filepath.Join(home, "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func tempHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func must(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := resolveIn(t, tempHome(t), text, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaultPolicy(t *testing.T) {
	home := tempHome(t)
	p, err := resolveIn(t, home, `{}`, "")
	if err != nil {
		t.Fatal(err)
	}
	g := p.GuardPolicy()
	if p.AgentID() != "main" || g.Workspace != filepath.Join(home, "workspace") || !g.Restrict || g.AllowReadOutside ||
		!g.Exec.DenyPatterns {
		t.Errorf("the default policy is %s %+v", p.AgentID(), g)
	}
	if got := p.CallLimits().ExecTimeout.Seconds(); got != 60 {
		t.Errorf("a command may run %v seconds", got)
	}
	if i := p.IsolationOptions(); i.Enabled || !i.Network {
		t.Errorf("the default isolation is %+v", i)
	}
	info, err := os.Stat(g.Workspace)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the default workspace is not made for its owner: %v, %v", info, err)
	}
}

func TestAgentsDiffer(t *testing.T) {
	home := tempHome(t)
	text := `{"agents": {"agents": [{"id": "main"}, {"id": "coder", "tools": {"disabled": ["exec", "*_file"]},
		"restrict_to_workspace": false}]}}`
	p, err := resolveIn(t, home, text, "coder")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(home, "workspace-coder"); p.WorkspacePath() != want {
		t.Errorf("the workspace is %s; want %s", p.WorkspacePath(), want)
	}
	for tool, want := range map[string]bool{"exec": false, "read_file": false, "list_dir": true, "read": false} {
		sets := []string{"picoclaw"}
		if tool == "read" {
			sets = []string{"module"}
		}
		plugin := "filesystem"
		if tool == "exec" {
			plugin = "shell"
		}
		if got := p.AllowsTool(plugin, tool, sets); got != want {
			t.Errorf("%s is allowed: %t; want %t", tool, got, want)
		}
	}
	d := p.DecideTool("shell", "exec", nil)
	if d.Verdict != guard.Deny || !strings.Contains(d.Reason, "coder") || !strings.Contains(d.Hint, "config.json:") {
		t.Errorf("the refusal of a disabled tool is %+v", d)
	}
	main, err := resolveIn(t, home, text, "")
	if err != nil {
		t.Fatal(err)
	}
	if main.Digest() == p.Digest() {
		t.Error("agents that may do different things have the same digest")
	}
}

func TestEqualPermissionsHaveEqualDigest(t *testing.T) {
	home := tempHome(t)
	dir := filepath.Join(home, "shared")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"agents": {"agents": [{"id": "a", "workspace": "` + dir + `"}, {"id": "b", "workspace": "` + dir + `"}]}}`
	a, err := resolveIn(t, home, text, "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := resolveIn(t, home, text, "b")
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest() != b.Digest() {
		t.Error("two agents that may do the same have different digests")
	}
}

func TestKernelPaths(t *testing.T) {
	for text, want := range map[string]struct{ write, read []string }{
		`{}`: {write: []string{"W"}},
		`{"tools": {"allow_read_paths": ["^/etc/hosts$", "^/proc/.*"]}}`: {write: []string{"W"},
			read: []string{"/etc/hosts", "/proc"}},
		`{"tools": {"allow_write_paths": ["^/tmp/picoclaw-.*"]}}`:          {write: []string{"/tmp", "W"}},
		`{"agents": {"defaults": {"allow_read_outside_workspace": true}}}`: {write: []string{"W"}, read: []string{"/"}},
		`{"agents": {"defaults": {"restrict_to_workspace": false}}}`:       {write: []string{"/", "W"}},
		`{"tools": {"allow_write_paths": ["x"]}}`:                          {write: []string{"/", "W"}},
	} {
		p := must(t, text)
		k := p.KernelPaths()
		for i, path := range want.write {
			if path == "W" {
				want.write[i] = p.WorkspacePath()
			}
		}
		slices.Sort(want.write)
		write := slices.DeleteFunc(slices.Clone(k.ReadWrite), func(path string) bool { return path == "" })
		if strings.HasPrefix(p.WorkspacePath(), "/tmp/") && slices.Contains(write, "/tmp") && !slices.Contains(write,
			p.WorkspacePath()) {
			write = append(write, p.WorkspacePath()) // the test's own directory is below /tmp
			slices.Sort(write)
		}
		if !slices.Equal(write, want.write) || !slices.Equal(k.ReadOnly, want.read) {
			t.Errorf("%s: write %v, read %v; want %v and %v", text, k.ReadWrite, k.ReadOnly, want.write, want.read)
		}
	}
}

// A sandbox that has a /tmp of its own has the workspace that lies there all the same, whatever is opened around it.
func TestSandboxPathsNameTheWorkspace(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"tools": {"allow_write_paths": ["^/tmp/picoclaw-.*"], "allow_read_paths": ["^/tmp/.*"]}}`,
		`{"tools": {"allow_write_paths": ["x"]}}`,
		`{"agents": {"defaults": {"allow_read_outside_workspace": true}}}`,
		`{"agents": {"defaults": {"restrict_to_workspace": false}}}`,
	} {
		p := must(t, text)
		k := p.SandboxKernelPaths()
		if !slices.Contains(k.ReadWrite, p.WorkspacePath()) || slices.Contains(slices.Concat(k.ReadWrite, k.ReadOnly), "/tmp") {
			t.Errorf("%s: write %v, read %v", text, k.ReadWrite, k.ReadOnly)
		}
	}
}

func TestPolicyIsImmutable(t *testing.T) {
	p := must(t, `{"tools": {"allow_read_paths": ["^/etc/hosts$"]}}`)
	p.GuardPolicy().AllowReadPaths[0] = ".*"
	p.KernelPaths().ReadOnly[0] = "/"
	if got := p.GuardPolicy().AllowReadPaths[0]; got != "^/etc/hosts$" {
		t.Errorf("the whitelist became %s", got)
	}
}

func BenchmarkResolvePolicy(b *testing.B) {
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"PICOCLAW_HOME=" + b.TempDir(),
		"PICOCLAW_TOOLS_ALLOW_READ_PATHS=^/etc/hosts$,^/proc/.*,^/sys/class/net/[^/]+/address$"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := ResolvePolicy(cfg, "")
		if err != nil {
			b.Fatal(err)
		}
		if k := p.KernelPaths(); len(k.ReadOnly) != 3 {
			b.Fatalf("the kernel opens %v", k.ReadOnly)
		}
	}
}

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
