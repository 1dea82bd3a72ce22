//go:build linux

package crontool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/schedule/crontool"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestMain(m *testing.M) {
	os.Exit(hosttest.RunTestsWithPrograms(m, map[string]string{"plugins/shell/shell": "../../../plugins/shell"},
		func(dir string) error { return hosttest.WriteManifests(dir, "plugins/shell") }))
}

// agents has two, the second without exec.
const agents = `{"isolation": {"enabled": false}, "agents": {"list": [{"id": "main"}, {"id": "reader", "tools": {"disabled": ["exec"]}}]},
"tools": {"exec": {"rules": [{"id": "own.deploy", "decision": "ask", "programs": "mytool", "verb": "deploy", "why": "deploys", "hit": ["mytool deploy"], "miss": ["mytool"]}]}}}`

// world is a host with the tool, and what it keeps.
type testAgents struct {
	*testing.T
	host *session.Host
	home string
}

func newTestAgents(t *testing.T, allowCommand bool, settings string) *testAgents {
	t.Helper()
	w := &testAgents{T: t, home: hosttest.TempDir(t)}
	file := filepath.Join(w.home, "config.json")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=" + w.home, "PICOCLAW_HOME=" + w.home}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := crontool.NewPlugin(crontool.Options{Store: w.store, AllowCommand: func(string) bool { return allowCommand }})
	if err != nil {
		t.Fatal(err)
	}
	w.host, err = session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"), Builtin: []session.BuiltinPlugin{p}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *testAgents) store(agent string) *schedule.Store {
	return schedule.OpenStore(w.home, agent)
}

func (w *testAgents) call(agent, arguments string) *session.Result {
	w.Helper()
	s, err := w.host.OpenSession(agent, session.Main)
	if err != nil {
		w.Fatal(err)
	}
	return s.Call(w.Context(), "cron", json.RawMessage(arguments), nil)
}

// good makes a call that has to succeed.
func (w *testAgents) good(arguments string) string {
	w.Helper()
	r := w.call("main", arguments)
	if r.Err != nil {
		w.Fatalf("%s: %v", arguments, r.Err)
	}
	return r.Text
}

func (w *testAgents) jobs(agent string) []schedule.Job {
	w.Helper()
	jobs, err := w.store(agent).Jobs()
	if err != nil {
		w.Fatal(err)
	}
	return jobs
}

func TestAgentManagesItsJobs(t *testing.T) {
	w := newTestAgents(t, true, agents)
	if got := w.good(`{"action":"list"}`); got != "No scheduled jobs" {
		t.Errorf("%s", got)
	}
	// models fill in what they do not mean
	said := w.good(`{"action":"add","message":"drink water","at_seconds":600,"every_seconds":5,"cron_expr":"x","command":""}`)
	w.good(`{"action":"add","name":"tidy","message":"tidy up","at_seconds":0,"every_seconds":3600,"cron_expr":"","command":"echo x"}`)
	w.good(`{"action":"add","name":"standup","message":"standup","cron_expr":"0 9 * * 1-5","tz":"Europe/Berlin"}`)
	jobs := w.jobs("main")
	water, tidy, standup := jobs[0], jobs[1], jobs[2]
	if !strings.HasPrefix(said, "Cron job added: drink water (id: "+water.ID) || water.Schedule.Kind != schedule.At ||
		!water.DeleteAfterRun || tidy.Schedule.EveryMs != 3_600_000 || tidy.Payload.Command != "echo x" ||
		standup.Schedule.TZ != "Europe/Berlin" || time.Until(time.UnixMilli(water.State.NextRunAtMs)) > 600*time.Second {
		t.Errorf("%s\n%+v", said, jobs)
	}
	w.good(`{"action":"update","job_id":"` + standup.ID + `","cron_expr":"0 10 * * *","tz":"Asia/Tokyo"}`)
	w.good(`{"action":"disable","job_id":"tidy"}`)
	if got := w.good(`{"action":"list"}`); strings.Count(got, "\n") != 3 || !strings.Contains(got, "tidy") ||
		!strings.Contains(got, "disabled") || !strings.Contains(got, "cron 0 10 * * * Asia/Tokyo, next run ") {
		t.Errorf("%s", got)
	}
	w.good(`{"action":"enable","job_id":"tidy"}`)
	if got := w.good(`{"action":"get","job_id":"tidy"}`); !strings.Contains(got, "command: echo x") {
		t.Errorf("%s", got)
	}
	w.good(`{"action":"remove","job_id":"` + water.ID + `"}`)
	if jobs := w.jobs("main"); len(jobs) != 2 {
		t.Errorf("%+v", jobs)
	}
	// Another agent has nothing of them.
	if r := w.call("reader", `{"action":"list"}`); r.Text != "No scheduled jobs" {
		t.Errorf("%+v", r)
	}
	for _, action := range []string{"get", "remove", "enable", "disable", "update"} {
		if r := w.call("reader", `{"action":"`+action+`","job_id":"`+tidy.ID+`"}`); r.Err == nil ||
			!strings.Contains(r.Err.Message, "there is no job") {
			t.Errorf("%s: %+v", action, r)
		}
	}
	for arguments, want := range map[string]string{
		`{"action":"add","message":"x"}`:                                     "a schedule is missing",
		`{"action":"add","every_seconds":60}`:                                "nothing to run",
		`{"action":"add","message":"x","cron_expr":"61 * * * *"}`:            `"61 * * * *"`,
		`{"action":"add","message":"x","cron_expr":"@daily","tz":"Nowhere"}`: `"Nowhere"`,
		`{"action":"remove"}`:                                                "needs a job_id",
		`{"action":"sing"}`:                                                  "action",
	} {
		if r := w.call("main", arguments); r.Err == nil || r.Err.Code != pluginpb.CodeInvalidArgument ||
			!strings.Contains(r.Err.Message, want) {
			t.Errorf("%s: %+v", arguments, r.Err)
		}
	}
}

// A command is decided on when it is added, as exec would decide: what needs a person can't be run at night.
func TestAddChecksCommand(t *testing.T) {
	w := newTestAgents(t, true, agents)
	add := func(agent, command string) *session.Result {
		text, err := json.Marshal(map[string]any{"action": "add", "every_seconds": 60, "command": command, "command_confirm": true})
		if err != nil {
			t.Fatal(err)
		}
		return w.call(agent, string(text))
	}
	for _, c := range []struct{ agent, command, rule string }{
		{"main", "sudo rm -rf /", ""},
		{"main", "cat /etc/shadow", ""},
		{"main", "mytool deploy", "own.deploy"},
		{"reader", "echo x", "tools.disabled"},
	} {
		if r := add(c.agent, c.command); r.Err == nil || r.Err.Code != pluginpb.CodeAccessDenied || r.Err.Rule == "" ||
			c.rule != "" && r.Err.Rule != c.rule {
			t.Errorf("%+v: %+v", c, r.Err)
		}
	}
	if jobs := append(w.jobs("main"), w.jobs("reader")...); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
	if r := add("main", "echo x"); r.Err != nil {
		t.Error(r.Err)
	}
	// nobody says yes at night, though somebody would now
	s, err := w.host.OpenSession("main", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	yes := session.WithApprovalAsker(t.Context(), func(context.Context, session.ApprovalQuestion) bool { return true })
	r := s.Call(yes, "cron", json.RawMessage(`{"action":"add","every_seconds":60,"command":"mytool deploy"}`), nil)
	if r.Err == nil || !strings.Contains(r.Err.Message, "each run of the command would need a person") {
		t.Errorf("%+v", r.Err)
	}
	// an update is no way around it
	if r := w.call("main", `{"action":"update","job_id":"echo x","command":"sudo reboot"}`); r.Err == nil {
		t.Error("a command was changed for one that is refused")
	}
	if got := w.jobs("main")[0].Payload.Command; got != "echo x" {
		t.Errorf("the command is %s", got)
	}
}

func TestCommandsDisabled(t *testing.T) {
	w := newTestAgents(t, false, agents)
	r := w.call("main", `{"action":"add","every_seconds":60,"command":"echo x"}`)
	if r.Err == nil || r.Err.Rule != "tools.cron.allow_command" || !strings.Contains(r.Err.Hint, "tools.cron.allow_command") {
		t.Errorf("%+v", r.Err)
	}
	w.good(`{"action":"add","every_seconds":60,"message":"x"}`)
}
