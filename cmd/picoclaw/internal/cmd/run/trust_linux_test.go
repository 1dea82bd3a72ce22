package run_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeSettings writes the file of the project that narrows runs.
func (p *project) writeSettings(text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, ".picoclaw"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.write(".picoclaw/config.json", text)
}

// fails runs picoclaw, which must fail with a text.
func (p *project) fails(want string, args ...string) {
	p.t.Helper()
	if text, err := p.picoclaw(args...).CombinedOutput(); err == nil || !strings.Contains(string(text), want) {
		p.t.Errorf("picoclaw %v: %v %s; want %q", args, err, text, want)
	}
}

// A project's settings narrow its runs from the moment that the person has accepted them, until they change.
func TestTrustedSettingsNarrowRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	port := p.serve(httptest.NewServer)
	config := `{"network": {"allow": ["a.test` + port + `", "b.test` + port + `"],
		"hosts": {"a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "c.test": ["127.0.0.1"], "d.test": ["127.0.0.1"]}}}`
	p.writeConfig(config)
	script := "for h in a b c d; do printf $h:; curl -sS --max-time 20 http://$h.test" + port + "/ | head -c 7; done; " +
		"echo x > guarded && echo guarded: written; echo '{}' > .picoclaw/config.json && echo settings: written; true"
	check := func(when string, wanted, unwanted []string) {
		t.Helper()
		_ = os.Remove(filepath.Join(p.dir, "guarded"))
		out, stderr, code := p.run(script, "--allow", "d.test"+port)
		for _, want := range wanted {
			if code != 0 || !strings.Contains(out+stderr, want) {
				t.Errorf("%s: %d %s%s; want %q", when, code, out, stderr, want)
			}
		}
		for _, not := range unwanted {
			if strings.Contains(out+stderr, not) {
				t.Errorf("%s: %s%s; want no %q", when, out, stderr, not)
			}
		}
	}
	p.fails("write it, or name another project", "trust", "--yes")
	settings := `{"network": {"allow": ["a.test` + port + `", "c.test` + port + `"]}, // a comment
		"workspace": {"protect": {"deny": ["guarded"]}}}`
	p.writeSettings(settings)
	check("before", []string{"a:reached", "b:reached", "d:reached", "guarded: written", "is ignored; review it with `picoclaw trust --project " + p.dir},
		[]string{"c:reached", "settings: written"})
	p.fails("no terminal to confirm", "trust")
	if out := p.picoclaw("trust", "--yes").mustRun(t); !strings.Contains(out, `network.allow, hosts that stay allowed, among yours: ["a.test`) ||
		!strings.Contains(out, `["guarded"]`) {
		t.Error(out)
	}
	check("trusted", []string{"a:reached", "d:reached"}, []string{"b:reached", "c:reached", "guarded: written", "settings: written", "trust"})
	if out := p.picoclaw("run", "--show", "--", "true").mustRun(t); !strings.Contains(out, p.dir+"/.picoclaw/config.json") {
		t.Errorf("the plan does not name the settings: %s", out)
	}
	p.writeSettings(`{}`)
	p.fails("have changed or are missing; review them with `picoclaw trust --project "+p.dir, "run", "--", "true")
	if err := os.Remove(filepath.Join(p.dir, ".picoclaw", "config.json")); err != nil {
		t.Fatal(err)
	}
	p.fails("have changed or are missing", "run", "--", "true")
	p.picoclaw("trust", "--remove").mustRun(t)
	check("removed", []string{"b:reached", "guarded: written"}, []string{"is ignored", "c:reached"})
}

// A linked work tree has the settings of the main work tree; the file of its branch does not count.
func TestWorkTreeHasTrustedSettings(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.command("git", "-c", "user.name=x", "-c", "user.email=x@test", "commit", "-q", "--allow-empty", "-m", "first").mustRun(t)
	p.writeSettings(`{"workspace": {"protect": {"deny": ["guarded"]}}}`)
	p.picoclaw("trust", "--yes").mustRun(t)
	out, stderr, code := p.run("echo x > guarded && echo written; true", "--worktree", "fix")
	if code != 0 || strings.Contains(out, "written") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
}

// Mistakes in the settings, and a damaged list of trusted projects, are named with their file.
func TestTrustNamesMistakes(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.writeSettings("{\n\"network\": {\"alow\": []}}")
	p.fails(".picoclaw/config.json:2: network.alow: unknown key; the nearest known key is network.allow", "trust", "--yes")
	p.writeSettings(`{"network": {"deny": ["http://x.test"]}}`)
	p.fails("network.deny", "trust", "--yes")
	p.writeSettings(`{"network": {"deny": ["x.test"]}}`)
	p.picoclaw("trust", "--yes").mustRun(t)
	list := filepath.Join(p.home, "trusted.json")
	for _, text := range []string{"", "{", "null", "[]", "\x00\x00"} {
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.fails(list, "run", "--", "true")
		p.fails(list, "trust", "--yes")
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	p.fails(list+" is missing or empty; restore a copy", "run", "--", "true")
}
