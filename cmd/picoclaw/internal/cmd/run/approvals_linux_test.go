package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// answerRequest waits for an approval request with an argument, and answers it.
func (p *project) answerRequest(answer, argument, value string) {
	p.t.Helper()
	var waiting []struct {
		ID        string         `json:"id"`
		Arguments map[string]any `json:"arguments"`
	}
	hosttest.WaitUntil(p.t, "an approval request", func() bool {
		out := p.picoclaw("approvals", "--output", "json").mustRun(p.t)
		return json.Unmarshal([]byte(out), &waiting) == nil && len(waiting) > 0
	})
	if len(waiting) != 1 || waiting[0].Arguments[argument] != value {
		p.t.Errorf("the requests are %+v, want one for %s", waiting, value)
	}
	p.picoclaw("approvals", answer, waiting[0].ID).mustRun(p.t)
}

// A write to a protected file fails at once, and a retry passes after approval, for the approved files alone.
func TestApprovedProtectedFile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := os.MkdirAll(filepath.Join(p.dir, ".github", "workflows"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := p.picoclaw("run", "--", "sh", "-c", `cd .github/workflows; echo x > ci.yml || echo failed
		until echo text 2>/dev/null > new.tmp; do :; done; mv new.tmp ci.yml; cd ../..; echo ready
		for f in .envrc .git/hooks/pre-push; do echo x > $f; done; git config core.editor ./x; echo x > lefthook.yml; read line`)
	out := clitest.OutputBuffer{}
	cmd.Stdout, cmd.Stderr = &out, &out
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.answerRequest("allow", "change", ".github/workflows")
	hosttest.WaitUntil(t, "the program continues", func() bool { return strings.Contains(out.String(), "ready") })
	if err = input.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := p.read(".github/workflows/ci.yml"); got != "text\n" || !strings.Contains(out.String(), "failed") {
		t.Errorf("the workflow is %q: %s", got, out.String())
	}
	for _, name := range []string{".envrc", ".git/hooks/pre-push", "lefthook.yml"} {
		if !strings.Contains(p.read(name), "no such file") {
			t.Errorf("%s was created", name)
		}
	}
	if strings.Contains(p.read(".git/config"), "editor") {
		t.Error("git runs an editor of the program's")
	}
	if audit := p.picoclaw("audit", "--output", "json").mustRun(t); !strings.Contains(audit, `"answer":"yes"`) && !strings.Contains(audit, `"answer": "yes"`) {
		t.Errorf("the approval is not in the audit log: %s", audit)
	}
	p.picoclaw("undo", "--run").mustRun(t)
	if got := p.read(".github/workflows/ci.yml"); !strings.Contains(got, "no such file") {
		t.Errorf("undo left %q", got)
	}
}

func TestDeniedProtectedFile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := p.picoclaw("run", "--", "sh", "-c", `echo x > lefthook.yml; read line; echo x > lefthook.yml`)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.answerRequest("deny", "change", "lefthook.yml")
	if err = input.Close(); err != nil {
		t.Fatal(err)
	}
	if err = cmd.Wait(); err == nil || !strings.Contains(p.read("lefthook.yml"), "no such file") {
		t.Errorf("%v: lefthook.yml is %q", err, p.read("lefthook.yml"))
	}
}

// The hook of a client that can't ask denies a call that needs approval, and allows the same call after approval.
func TestApprovedToolCall(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, file := range map[string]string{"approved": "lefthook.yml", "other": "lefthook.toml"} {
		patch := "*** Begin Patch\n*** Add File: " + file + "\n+x\n*** End Patch\n"
		text, _ := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": map[string]any{"command": patch}, "cwd": p.dir})
		p.write(name, string(text))
	}
	hook := hosttest.ProgramPath("bin/picoclaw") + " hook codex <"
	cmd := p.picoclaw("run", "--", "sh", "-c", hook+"approved; until [ -z \"$("+hook+"approved)\" ]; do :; done; echo ==; "+hook+"other")
	out := clitest.OutputBuffer{}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.answerRequest("allow", "command", "*** Begin Patch\n*** Add File: lefthook.yml\n+x\n*** End Patch\n")
	err := cmd.Wait()
	first, second, _ := strings.Cut(out.String(), "==")
	if err != nil || !strings.Contains(first, "picoclaw approvals") || !strings.Contains(second, "deny") {
		t.Errorf("%v: %s", err, out.String())
	}
}
