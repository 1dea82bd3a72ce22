package run_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A host allowed during a run is open to this run until its end, and to no other run. Only the operator can allow it.
func TestAllowHostDuringRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	port := p.serve(httptest.NewServer)
	host := "api.test" + port
	config := `{"network": {"allow": ["other.test"], "deny": ["denied.test"], "hosts": {"api.test": ["127.0.0.1"], "denied.test": ["127.0.0.1"]}}}`
	p.writeConfig(config)
	get := func(host string) string { return "curl -sS --max-time 20 http://" + host + "/ || echo refused; " }
	script := get(host) + fmt.Sprintf(`echo %[1]s > %[2]s/runs/$(basename %[2]s/runs/*)/allow && echo GOT; for run in %[2]s/runs/*; do
		%[3]s run allow $(basename $run) %[1]s && echo GOT; done; echo ready; wait go; `, host, p.home, hosttest.ProgramPath("bin/picoclaw")) +
		get(host) + get("denied.test"+port)
	cmd, out := p.start(script)
	hosttest.WaitUntil(t, "the program runs", func() bool { return strings.Contains(out.String(), "ready") })
	runs, err := filepath.Glob(filepath.Join(p.home, "runs", "2*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v %v", runs, err)
	}
	id := filepath.Base(runs[0])
	for _, c := range []struct{ run, host, want string }{
		{id, "http://x", "network.allow"}, {id, "*.com", "network.allow"}, {"none", "x.test", "run none does not run"},
		{"../x", "x.test", "run ../x does not run"},
	} {
		if text, err := p.picoclaw("run", "allow", c.run, c.host).CombinedOutput(); err == nil || !strings.Contains(string(text), c.want) {
			t.Errorf("run allow %s %s: %v %s", c.run, c.host, err, text)
		}
	}
	p.picoclaw("run", "allow", id, host).mustRun(t)
	p.picoclaw("run", "allow", id, "denied.test"+port).mustRun(t)
	p.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v %s", err, out.String())
	}
	text := out.String()
	before, after, _ := strings.Cut(text, "ready")
	if strings.Contains(before, "reached") || strings.Contains(text, "GOT") || strings.Count(after, "reached") != 1 {
		t.Errorf("the program printed %s", text)
	}
	if entries := p.picoclaw("audit", "--output", "json").mustRun(t); !strings.Contains(entries, `"allow":"`+host+`"`) || !strings.Contains(entries, `"rule":"run.allow"`) {
		t.Errorf("the audit log lacks the host: %s", entries)
	}
	if text, err := p.picoclaw("run", "allow", id, host).CombinedOutput(); err == nil || !strings.Contains(string(text), "does not run") {
		t.Errorf("of an ended run: %v %s", err, text)
	}
	if text, _, _ := p.run(get(host)); strings.Contains(text, "reached") {
		t.Errorf("another run reached the host: %s", text)
	}
}

// The command after -- is a program, also with a subcommand's name.
func TestProgramNamedAllow(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	text, err := p.picoclaw("run", "--", "allow", "a", "b").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "there is no program allow") {
		t.Errorf("%v %s", err, text)
	}
}
