package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// waiting waits until so many calls wait for a person, and returns them.
func (i instance) waiting(t *testing.T, many int) (all []*approvals.Waiting) {
	t.Helper()
	hosttest.Eventually(t, fmt.Sprintf("%d calls wait", many), func() bool {
		out, code := i.picoclaw(t, "approvals", "--output", "json")
		all = nil
		if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
			t.Fatalf("%v %d %s", err, code, out)
		}
		return len(all) == many
	})
	return all
}

// last is the last record of a tool.
func (i instance) last(t *testing.T, tool string) (r audit.Record) {
	t.Helper()
	out, _ := i.picoclaw(t, "audit", "--tool", tool, "--limit", "1", "--output", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// A call whose client can't ask waits for the command line, and each answer is for one call.
func TestACallWaitsForAnApproval(t *testing.T) {
	in := newInstance(t)
	in.configure(t, `{"agents": {"list": [{"id": "main"}, {"id": "other"}]}}`)
	_, url := in.gateway(t)
	token := in.token(t, "main")
	session := openSession(t, url+"/mcp", token)
	answers := make(chan string, 8)
	call := func(command string) {
		text, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Error(err)
		}
		go func() { answers <- callIn(t, url+"/mcp", token, "exec", string(text), session) }()
	}
	there := func(name string) bool { _, err := os.Stat(filepath.Join(in.workspace, name)); return err == nil }

	call("touch made a")
	w := in.waiting(t, 1)[0]
	if w.Agent != "main" || w.Origin != "mcp" || w.Tool != "shell.exec" ||
		!strings.Contains(string(w.Arguments), "touch made a") {
		t.Errorf("what waits: %+v", w)
	}
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, "picoclaw_approvals_waiting 1\n") {
		t.Error("it is not counted")
	}
	dir := filepath.Join(in.home, "approvals")
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, w.ID+".json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if out, code := in.picoclaw(t, "approvals", "show", w.ID); code != 0 || !strings.Contains(out, "touch made a") {
		t.Errorf("show: %d %s", code, out)
	}
	// No command answers, be it of another agent: what the guard does not see in a script the kernel refuses.
	script := fmt.Sprintf("cat %[1]s/%[2]s.json; ls %[1]s; echo x > %[1]s/%[2]s.answer; %[3]s approvals allow %[2]s\n", dir, w.ID,
		hosttest.Program("bin/picoclaw"))
	for agent, workspace := range map[string]string{"main": in.workspace, "other": in.workspace + "-other"} {
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(workspace, "try.sh"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := in.picoclaw(t, "call", "exec", "--agent", agent, "command=sh try.sh")
		if !strings.Contains(out, "ermission denied") || strings.Contains(out, w.Nonce) || strings.Contains(out, "goes on") {
			t.Errorf("a command of %s: %s", agent, out)
		}
	}
	if len(answers) != 0 || there("a") {
		t.Fatal("the call has not waited")
	}
	if out, code := in.picoclaw(t, "approvals", "allow", w.ID); code != 0 || !strings.Contains(out, "touch made a") {
		t.Fatalf("allow: %d %s", code, out)
	}
	if answer := <-answers; strings.Contains(answer, `"isError":true`) || !there("a") {
		t.Errorf("once allowed: %s", answer)
	}
	if r := in.last(t, "exec"); r.Decision != "ask" || r.Answer != "yes" || r.Approval == nil || r.Approval.By == "" ||
		r.Approval.Way != "cli" || r.Approval.Time.IsZero() {
		t.Errorf("the record: %+v %+v", r, r.Approval)
	}

	// The same call again is another one, as is one that is like it, and one that waits beside it.
	call("touch made a")
	call("touch made b")
	for _, again := range in.waiting(t, 2) {
		if again.ID == w.ID {
			t.Error("it waits under the same id")
		}
		verb := "deny"
		if strings.Contains(string(again.Arguments), "touch made b") {
			verb = "allow"
		}
		if out, code := in.picoclaw(t, "approvals", verb, again.ID); code != 0 {
			t.Errorf("%s: %d %s", verb, code, out)
		}
		if out, code := in.picoclaw(t, "approvals", verb, again.ID); code != exitFailed || !strings.Contains(out, "no such call waits") {
			t.Errorf("%s again: %d %s", verb, code, out)
		}
	}
	if both := <-answers + <-answers; strings.Count(both, `"isError":true`) != 1 || !strings.Contains(both, "refused it") {
		t.Errorf("one denied, one allowed: %s", both)
	}
	if !there("b") {
		t.Error("the one that was allowed has done nothing")
	}

	call("touch made c")
	in.waiting(t, 1)
	if out, code := in.picoclaw(t, "stop", "--why", "enough"); code != 0 {
		t.Fatal(out)
	}
	if answer := <-answers; !strings.Contains(answer, "enough") || there("c") {
		t.Errorf("once stopped: %s", answer)
	}
	in.waiting(t, 0)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestAnApprovalIsNotWaitedForForEver(t *testing.T) {
	in := newInstance(t)
	in.configure(t, `{"approvals": {"wait_seconds": 1, "origins": ["cli"]}}`)
	out, code := in.picoclaw(t, "call", "exec", "command=touch made a")
	if code == 0 || !strings.Contains(out, "it waited 1s") || !strings.Contains(out, "picoclaw approvals") {
		t.Errorf("%d %s", code, out)
	}
	if r := in.last(t, "exec"); r.Answer != "no" || r.Approval != nil {
		t.Errorf("the record: %+v", r)
	}
	in.configure(t, `{}`) // picoclaw call does not wait unless it is told to
	if out, code := in.picoclaw(t, "call", "exec", "command=touch made a"); code == 0 || strings.Contains(out, "it waited") {
		t.Errorf("%d %s", code, out)
	}
}

// What allows such a call from then on is written where it belongs, once the person has seen it and said yes.
func TestAnApprovalForAlways(t *testing.T) {
	in := newInstance(t)
	in.configure(t, `{
  // whose calls wait
  "approvals": {"origins": ["cli"], "wait_seconds": 600},
  "agents": {"list": [{"id": "main"}, {"id": "other", "tools": {"exec": {"custom_allow_patterns": [
    "echo" // harmless
  ]}}}]}
}`)
	file := filepath.Join(in.home, "config.json")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	call := func(agent string) chan int {
		ended := make(chan int, 1)
		go func() {
			_, code := in.picoclaw(t, "call", "exec", "--agent", agent, "command=touch made a")
			ended <- code
		}()
		return ended
	}
	for _, c := range []struct{ agent, says, want string }{
		{"main", "n", ""}, {"main", "y", `"custom_allow_patterns": ["^touch made a$"]`}, {"other", "y", "// harmless"},
	} {
		ended := call(c.agent)
		cmd := in.command(hosttest.Program("bin/picoclaw"), "approvals", "allow", in.waiting(t, 1)[0].ID, "--always")
		cmd.Stdin = strings.NewReader(c.says + "\n")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), file) || !strings.Contains(string(out), "touch made a$") {
			t.Fatalf("%s: %v %s", c.agent, err, out)
		}
		if code := <-ended; code != 0 {
			t.Errorf("the call of %s: %d", c.agent, code)
		}
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.says == "n" {
			if string(after) != string(before) {
				t.Errorf("written without a yes: %s", after)
			}
			continue
		}
		if !strings.Contains(string(after), "// whose calls wait") || !strings.Contains(string(after), c.want) {
			t.Errorf("%s: %s", c.agent, after)
		}
		if code := <-call(c.agent); code != 0 {
			t.Errorf("the next call of %s: %d", c.agent, code)
		}
		in.waiting(t, 0)
	}
}

// A chat system hears of it.
func TestHooksAreToldOfWhatWaits(t *testing.T) {
	in := newInstance(t)
	seen := filepath.Join(in.workspace, "seen")
	in.configure(t, fmt.Sprintf(`{"approvals": {"origins": ["cli"], "wait_seconds": 600}, "hooks": {"Notification": [{"matcher": "approval",
		"hooks": [{"type": "command", "command": "cat > %s", "workspace": "rw"}]}]}}`, seen))
	ended := make(chan string, 1)
	go func() {
		out, _ := in.picoclaw(t, "call", "exec", "command=touch made a")
		ended <- out
	}()
	w := in.waiting(t, 1)[0]
	hosttest.Eventually(t, "the hook is told", func() bool {
		text, _ := os.ReadFile(seen)
		return strings.Contains(string(text), w.ID) && strings.Contains(string(text), "touch made a")
	})
	if out, code := in.picoclaw(t, "approvals", "deny", w.ID, "--why", "not on a Friday"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if out := <-ended; !strings.Contains(out, "not on a Friday") {
		t.Errorf("the call: %s", out)
	}
}

func TestWhoHasDiedWaitsNoMore(t *testing.T) {
	in := newInstance(t)
	in.configure(t, `{"approvals": {"origins": ["cli"], "wait_seconds": 600}}`)
	cmd := in.command(hosttest.Program("bin/picoclaw"), "call", "exec", "command=touch made a")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := in.waiting(t, 1)[0]
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if out, code := in.picoclaw(t, "approvals", "allow", w.ID); code != exitFailed || !strings.Contains(out, "no such call waits") {
		t.Errorf("%d %s", code, out)
	}
	in.waiting(t, 0)
	if left, err := os.ReadDir(filepath.Join(in.home, "approvals")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
