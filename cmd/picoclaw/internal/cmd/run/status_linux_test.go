package run_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// runStatus is a run in the output of `picoclaw status`.
type runStatus struct {
	ID, Project, Agent string
	Program            []string
	Changes            int
	Reached, Refused   []string
}

// status returns the runs that `picoclaw status` lists.
func (p *project) status() []runStatus {
	p.t.Helper()
	var all struct{ Runs []runStatus }
	text, err := p.picoclaw("status", "--output", "json").Output()
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		p.t.Fatalf("status: %v %s", err, text)
	}
	return all.Runs
}

// Running programs are listed with their hosts, also of connections that are still open, and with their changes.
// A program that has ended, or whose picoclaw was killed, is not listed.
func TestStatusListsRunningPrograms(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	port := p.serve(httptest.NewTLSServer)
	host := "api.test" + port
	config := `{"network": {"allow": ["` + host + `"], "hosts": {"api.test": ["127.0.0.1"]}}}`
	p.writeConfig(config)
	if runs := p.status(); len(runs) != 0 {
		t.Errorf("before the run: %v", runs)
	}
	p.write("hold.py", `
import os, socket, ssl, time
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
c = socket.create_connection((proxy[0], int(proxy[1])))
c.sendall(b"CONNECT `+host+` HTTP/1.1\r\nHost: `+host+`\r\n\r\n")
c.recv(1000)
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
s = context.wrap_socket(c, server_hostname="api.test")
while not os.path.exists("go"): time.sleep(0.02)
`)
	cmd, out := p.start(`echo 1 > one; echo 2 > two; curl -sS --max-time 5 http://refused.test/; python3 hold.py`)
	listed := func() (r runStatus, isComplete bool) {
		runs := p.status()
		if len(runs) != 1 {
			return r, false
		}
		r = runs[0]
		return r, r.Changes >= 2 && slices.Contains(r.Reached, host) && len(r.Refused) == 1 && strings.Contains(r.Refused[0], "refused.test")
	}
	hosttest.WaitUntil(t, "the run is listed with hosts and changes", func() bool { _, ok := listed(); return ok })
	if r, _ := listed(); r.Project != p.dir || r.Agent != "main" || r.Program[0] != "sh" {
		t.Errorf("%+v\n%s", r, out.String())
	}
	if text := p.picoclaw("status").mustRun(t); !strings.Contains(text, "reached: "+host) || !strings.Contains(text, p.dir) || !strings.Contains(text, "isolation: off") {
		t.Error(text)
	}
	p.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v %s", err, out.String())
	}
	if runs := p.status(); len(runs) != 0 {
		t.Errorf("after the run: %v", runs)
	}
	cmd, out = p.start("echo ready; sleep 600")
	hosttest.WaitUntil(t, "the second program runs", func() bool { return strings.Contains(out.String(), "ready") && len(p.status()) == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if text := p.picoclaw("status").mustRun(t); !strings.Contains(text, "no program runs") {
		t.Errorf("after the kill: %s", text)
	}
}
