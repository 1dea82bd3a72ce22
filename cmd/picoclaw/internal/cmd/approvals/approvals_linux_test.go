package approvals_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// last is the last record of a tool.
func last(i clitest.Home, t *testing.T, tool string) (r audit.Record) {
	t.Helper()
	out, _ := i.Run(t, "audit", "--tool", tool, "--limit", "1", "--output", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// A call whose client can't ask waits for the command line, and each answer is for one call.
func TestCallWaitsForApproval(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"agents": {"list": [{"id": "main"}, {"id": "other"}]}}`)
	_, url := in.StartGateway(t)
	token := in.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	answers := make(chan string, 8)
	call := func(command string) {
		text, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Error(err)
		}
		go func() { answers <- clitest.CallToolHTTP(t, url+"/mcp", token, "exec", string(text), session) }()
	}
	there := func(name string) bool { _, err := os.Stat(filepath.Join(in.Workspace, name)); return err == nil }

	call("touch made a")
	w := in.AwaitApprovalRequests(t, 1)[0]
	if w.Agent != "main" || w.Origin != "mcp" || w.Tool != "shell.exec" ||
		!strings.Contains(string(w.Arguments), "touch made a") {
		t.Errorf("what waits: %+v", w)
	}
	if _, text := clitest.HTTPGet(t, url+"/metrics"); !strings.Contains(text, "picoclaw_approvals_waiting 1\n") {
		t.Error("it is not counted")
	}
	dir := filepath.Join(in.Dir, "approvals")
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, w.ID+".json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if out, code := in.Run(t, "approvals", "show", w.ID); code != 0 || !strings.Contains(out, "touch made a") {
		t.Errorf("show: %d %s", code, out)
	}
	// No command answers, be it of another agent: what the guard does not see in a script the kernel refuses.
	script := fmt.Sprintf("cat %[1]s/%[2]s.json; ls %[1]s; echo x > %[1]s/%[2]s.answer; %[3]s approvals allow %[2]s\n", dir, w.ID,
		hosttest.ProgramPath("bin/picoclaw"))
	for agent, workspace := range map[string]string{"main": in.Workspace, "other": in.Workspace + "-other"} {
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(workspace, "try.sh"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := in.Run(t, "call", "exec", "--agent", agent, "command=sh try.sh")
		if !strings.Contains(out, "ermission denied") || strings.Contains(out, w.Nonce) || strings.Contains(out, "goes on") {
			t.Errorf("a command of %s: %s", agent, out)
		}
	}
	if len(answers) != 0 || there("a") {
		t.Fatal("the call has not waited")
	}
	if out, code := in.Run(t, "approvals", "allow", w.ID); code != 0 || !strings.Contains(out, "touch made a") {
		t.Fatalf("allow: %d %s", code, out)
	}
	if answer := <-answers; strings.Contains(answer, `"isError":true`) || !there("a") {
		t.Errorf("once allowed: %s", answer)
	}
	if r := last(in, t, "exec"); r.Decision != "ask" || r.Answer != "yes" || r.Approval == nil || r.Approval.By == "" ||
		r.Approval.Way != "cli" || r.Approval.Time.IsZero() {
		t.Errorf("the record: %+v %+v", r, r.Approval)
	}

	// The same call again is another one, as is one that is like it, and one that waits beside it.
	call("touch made a")
	call("touch made b")
	for _, again := range in.AwaitApprovalRequests(t, 2) {
		if again.ID == w.ID {
			t.Error("it waits under the same id")
		}
		verb := "deny"
		if strings.Contains(string(again.Arguments), "touch made b") {
			verb = "allow"
		}
		if out, code := in.Run(t, "approvals", verb, again.ID); code != 0 {
			t.Errorf("%s: %d %s", verb, code, out)
		}
		if out, code := in.Run(t, "approvals", verb, again.ID); code != clitest.ExitFailed || !strings.Contains(out, "no such call is waiting") {
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
	in.AwaitApprovalRequests(t, 1)
	if out, code := in.Run(t, "stop", "--why", "enough"); code != 0 {
		t.Fatal(out)
	}
	if answer := <-answers; !strings.Contains(answer, "enough") || there("c") {
		t.Errorf("once stopped: %s", answer)
	}
	in.AwaitApprovalRequests(t, 0)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestApprovalRequestExpires(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"approvals": {"wait_seconds": 1, "origins": ["cli"]}}`)
	out, code := in.Run(t, "call", "exec", "command=touch made a")
	if code == 0 || !strings.Contains(out, "within 1s") || !strings.Contains(out, "picoclaw approvals") {
		t.Errorf("%d %s", code, out)
	}
	if r := last(in, t, "exec"); r.Answer != "no" || r.Approval != nil {
		t.Errorf("the record: %+v", r)
	}
	in.WriteConfig(t, `{}`) // picoclaw call does not wait unless it is told to
	if out, code := in.Run(t, "call", "exec", "command=touch made a"); code == 0 || strings.Contains(out, "it waited") {
		t.Errorf("%d %s", code, out)
	}
}

// What allows such a call from then on is written where it belongs, once the person has seen it and said yes.
func TestApproveAlwaysWritesSetting(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{
  // whose calls wait
  "approvals": {"origins": ["cli"], "wait_seconds": 600},
  "agents": {"list": [{"id": "main"}, {"id": "other", "tools": {"exec": {"custom_allow_patterns": [
    "echo" // harmless
  ]}}}]}
}`)
	file := filepath.Join(in.Dir, "config.json")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	call := func(agent string) chan int {
		ended := make(chan int, 1)
		go func() {
			_, code := in.Run(t, "call", "exec", "--agent", agent, "command=touch made a")
			ended <- code
		}()
		return ended
	}
	for _, c := range []struct{ agent, says, want string }{
		{"main", "n", ""}, {"main", "y", `"custom_allow_patterns": ["^touch made a$"]`}, {"other", "y", "// harmless"},
	} {
		ended := call(c.agent)
		cmd := in.Command(hosttest.ProgramPath("bin/picoclaw"), "approvals", "allow", in.AwaitApprovalRequests(t, 1)[0].ID, "--always")
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
		in.AwaitApprovalRequests(t, 0)
	}
}

// A chat system hears of it.
func TestHooksReceiveApprovalRequests(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	seen := filepath.Join(in.Workspace, "seen")
	in.WriteConfig(t, fmt.Sprintf(`{"approvals": {"origins": ["cli"], "wait_seconds": 600}, "hooks": {"Notification": [{"matcher": "approval",
		"hooks": [{"type": "command", "command": "cat > %s", "workspace": "rw"}]}]}}`, seen))
	ended := make(chan string, 1)
	go func() {
		out, _ := in.Run(t, "call", "exec", "command=touch made a", "stdin=a\u200bb\u202ec\u2066")
		ended <- out
	}()
	w := in.AwaitApprovalRequests(t, 1)[0]
	hosttest.WaitUntil(t, "the hook is told", func() bool {
		text, _ := os.ReadFile(seen)
		var told struct{ Message string }
		_ = json.Unmarshal(text, &told)
		return strings.Contains(told.Message, w.ID) && strings.Contains(told.Message, "touch made a") &&
			strings.Contains(told.Message, `a\u200bb\u202ec\u2066`)
	})
	for _, args := range [][]string{{"approvals"}, {"approvals", "show", w.ID}} {
		if out, _ := in.Run(t, args...); !strings.Contains(out, `stdin=a\u200bb\u202ec\u2066`) {
			t.Errorf("%v shows hidden characters: %q", args, out)
		}
	}
	if out, code := in.Run(t, "approvals", "deny", w.ID, "--why", "not on a Friday"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if out := <-ended; !strings.Contains(out, "not on a Friday") {
		t.Errorf("the call: %s", out)
	}
}

func TestRequestsOfDeadProcessesDisappear(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"approvals": {"origins": ["cli"], "wait_seconds": 600}}`)
	cmd := in.Command(hosttest.ProgramPath("bin/picoclaw"), "call", "exec", "command=touch made a")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := in.AwaitApprovalRequests(t, 1)[0]
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if out, code := in.Run(t, "approvals", "allow", w.ID); code != clitest.ExitFailed || !strings.Contains(out, "no such call is waiting") {
		t.Errorf("%d %s", code, out)
	}
	in.AwaitApprovalRequests(t, 0)
	if left, err := os.ReadDir(filepath.Join(in.Dir, "approvals")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
