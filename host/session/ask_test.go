//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// openAsking returns a session in which `touch made` needs approval.
func openAsking(t *testing.T, a session.ApprovalQueue) *session.Session {
	t.Helper()
	home := hosttest.TempDir(t)
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(`{"tools": {"exec": {"rules": [
		{"id": "make-it", "programs": "touch", "verb": "made", "decision": "ask", "why": "makes files"}]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"), Approvals: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	s, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWaitingCallSendsProgress(t *testing.T) {
	later := told{make(chan string)}
	s := openAsking(t, later)
	first := true
	r := s.Call(t.Context(), "exec", json.RawMessage(`{"command": "touch made a"}`), func(e session.CallEvent) {
		if first {
			first = false
			later.messages <- e.Message
		}
	})
	if r.Err != nil || first {
		t.Errorf("the call: %v", r.Err)
	}
}

// told allows a call once its caller has been told that it waits.
type told struct{ messages chan string }

func (told) MustHoldCallsOf(session.Origin) bool { return true }

func (d told) WaitForApproval(ctx context.Context, _ *session.Session, _ approvals.Call) (*approvals.Answer, error) {
	select {
	case message := <-d.messages:
		return &approvals.Answer{Yes: strings.Contains(message, "picoclaw approvals"), By: "somebody", Way: "chat"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestUnansweredApprovalBlocksCall(t *testing.T) {
	for name, c := range map[string]struct {
		answer *approvals.Answer
		runs   bool
	}{"yes": {&approvals.Answer{Yes: true}, true}, "no": {&approvals.Answer{}, false}, "no answer in time": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			s := openAsking(t, fixedAnswer{c.answer})
			made := filepath.Join(s.Policy().WorkspacePath(), "made")
			r := s.Call(t.Context(), "exec", json.RawMessage(`{"command": "touch made a"}`), nil)
			if _, err := os.Stat(made); (err == nil) != c.runs || (r.Err == nil) != c.runs {
				t.Errorf("the file: %v; the call: %v", err, r.Err)
			}
		})
	}
}

// fixedAnswer gives one answer to every call; nil for none in time.
type fixedAnswer struct{ answer *approvals.Answer }

func (fixedAnswer) MustHoldCallsOf(session.Origin) bool { return true }

func (a fixedAnswer) WaitForApproval(context.Context, *session.Session, approvals.Call) (*approvals.Answer, error) {
	return a.answer, nil
}
