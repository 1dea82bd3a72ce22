//go:build linux

package session_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestUndoableDeletionsAreAllowed(t *testing.T) {
	if !isolation.CanNoticeChanges() {
		t.Skip("this machine does not tell of changes to files")
	}
	const setting = "PICOCLAW_TOOLS_EXEC_UNDOABLE_DELETES=true"
	for name, test := range map[string]struct {
		variables []string
		want      guard.Verdict
	}{
		"kept":               {[]string{setting}, guard.Allow},
		"without it":         {nil, guard.Deny},
		"without undo":       {[]string{setting, "PICOCLAW_TOOLS_UNDO_ENABLED=false"}, guard.Deny},
		"without the grant":  {[]string{setting, "PICOCLAW_PLUGINS_SHELL_GRANTS_TAKEBACK=false"}, guard.Deny},
		"not confined":       {[]string{setting, "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE=false"}, guard.Deny},
		"below a sandbox's":  {[]string{setting, "PICOCLAW_ISOLATION_ENABLED=true"}, guard.Allow}, // the store is elsewhere there
		"open to commands":   {[]string{setting, "PICOCLAW_TOOLS_ALLOW_WRITE_PATHS=^" + os.TempDir() + "/"}, guard.Deny},
		"in another profile": {[]string{setting, "PICOCLAW_TOOLS_EXEC_PROFILE=seed_strict"}, guard.Deny},
	} {
		h := open(t, test.variables...)
		for _, open := range []func(string, session.Origin) (*session.Session, error){h.OpenPreviewSession, h.OpenSession} {
			s, err := open("", session.CLI)
			if err != nil {
				t.Fatal(err)
			}
			d, e := s.ExplainCall("exec", json.RawMessage(`{"command":"rm -rf build"}`))
			if e != nil || d.Verdict != test.want || (len(d.Softened) > 0) != (test.want == guard.Allow) {
				t.Errorf("%s: %s %s, softened %v, %v", name, d.Verdict, d.Rule, d.Softened, e)
			}
			told := strings.Contains(d.Setting, "undoable_deletes")
			refused := d.Rule == "exec.rm-recursive" && slices.Contains(test.variables, setting)
			if told != refused {
				t.Errorf("%s: setting %q", name, d.Setting)
			}
		}
	}
}

func TestUndoableDeletionsOfChildAndShell(t *testing.T) {
	if !isolation.CanNoticeChanges() {
		t.Skip("this machine does not tell of changes to files")
	}
	h := open(t, "PICOCLAW_TOOLS_EXEC_UNDOABLE_DELETES=true")
	s, err := h.OpenSession("", session.CLI)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/a/f", "b/f"} {
		if r := call(t, s, "write_file", map[string]any{"path": name, "content": "x"}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	child, err := s.SpawnSession(session.Subagent, policy.Restriction{Workspace: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, child, "exec", map[string]any{"command": "rm -rf a"}); r.Err != nil {
		t.Error(r.Err)
	}
	if r := call(t, child, "exec", map[string]any{"command": "rm -rf ../b"}); r.Err == nil {
		t.Error("a child deletes in its parent's workspace")
	}
	r := call(t, s, "exec", map[string]any{"command": "bash", "background": true})
	var begun struct{ Session string }
	if r.Err != nil || json.Unmarshal(r.Structured, &begun) != nil {
		t.Fatal(r.Err)
	}
	for data, allowed := range map[string]bool{"rm -rf /etc/x\n": false, "rm -rf b\n": true} {
		r := call(t, s, "process", map[string]any{"action": "write", "session": begun.Session, "data": data})
		if (r.Err == nil) != allowed {
			t.Errorf("a shell is told %q: %v", data, r.Err)
		}
	}
}
