//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

const onlyOne = "PICOCLAW_AGENTS_DEFAULTS_LIMITS_CALLS_AT_ONCE=1"

// holding has a session make a call that runs until release is called.
func holding(t *testing.T, s *session.Session) (release func()) {
	t.Helper()
	done := make(chan *session.Result)
	dir := s.Policy().WorkspacePath()
	go func() {
		const script = `{"command":"touch running; until [ -e enough ]; do sleep 0.01; done"}`
		done <- s.Call(context.Background(), "exec", json.RawMessage(script), nil)
	}()
	hosttest.WaitUntil(t, "the call runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "running"))
		return err == nil
	})
	return func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.Err != nil {
			t.Error(r.Err)
		}
	}
}

func TestConcurrentCallsAreLimited(t *testing.T) {
	ledger := &quota.UsageLedger{}
	work, err := session.NewBuiltinTool("work", "Has a subagent work.",
		func(ctx context.Context, s *session.Session, _ struct{}) (string, error) {
			child, err := s.SpawnSession(session.Subagent, policy.Restriction{})
			if err != nil {
				return "", err
			}
			r := child.Call(ctx, "list_dir", json.RawMessage(`{"path":"."}`), nil)
			return r.Text, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	h := openWith(t, session.HostOptions{QuotaLedger: ledger, Builtin: []session.BuiltinPlugin{{ID: "own", Tools: []session.BuiltinTool{work}}}}, onlyOne)
	s := openSession(t, h)
	release := holding(t, s)

	waits, told := make(chan *session.Result), make(chan string, 1)
	go func() {
		waits <- s.Call(context.Background(), "work", json.RawMessage(`{}`), nil)
	}()
	hosttest.WaitUntil(t, "the subagent's call waits", func() bool { _, waiting := ledger.CountCalls("main"); return waiting == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waits <- s.Call(ctx, "list_dir", json.RawMessage(`{"path":"."}`), func(e session.CallEvent) { told <- e.Message })
	}()
	if why := <-told; !strings.Contains(why, quota.CallsKey) {
		t.Errorf("told %q", why)
	}
	cancel()
	if r := <-waits; r.Err == nil || r.Err.Code != pluginpb.CodeCancelled {
		t.Errorf("a call that was cancelled while it waited: %+v", r)
	}
	release()
	if r := <-waits; r.Err != nil || !strings.Contains(r.Text, "enough") {
		t.Errorf("the tool that has a subagent work: %+v", r)
	}
	if running, waiting := ledger.CountCalls("main"); running+waiting > 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}

// An agent's command waits for its other commands, also on a host that was opened again. Its other calls and other
// agents' commands do not.
func TestCommandWaitsForCommands(t *testing.T) {
	ledger := &quota.UsageLedger{}
	h := openWith(t, session.HostOptions{QuotaLedger: ledger})
	s := openSession(t, h)
	var commands sync.WaitGroup
	limit := max(4, runtime.GOMAXPROCS(0))
	for n := range limit {
		commands.Go(func() {
			script := fmt.Sprintf(`{"command":"touch running%d; until [ -e enough ]; do sleep 0.01; done"}`, n)
			if r := s.Call(context.Background(), "exec", json.RawMessage(script), nil); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	end := func() {
		if err := os.WriteFile(filepath.Join(s.Policy().WorkspacePath(), "enough"), nil, 0o600); err != nil {
			t.Error(err)
		}
		commands.Wait()
	}
	defer end()
	hosttest.WaitUntil(t, "the commands run", func() bool {
		running, err := filepath.Glob(filepath.Join(s.Policy().WorkspacePath(), "running*"))
		return err == nil && len(running) == limit
	})
	again := openSession(t, openWith(t, session.HostOptions{QuotaLedger: ledger}))
	told, waits := make(chan string, 1), make(chan *session.Result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waits <- again.Call(ctx, "exec", json.RawMessage(`{"command":"true"}`), func(e session.CallEvent) { told <- e.Message })
	}()
	if why := <-told; !strings.Contains(why, fmt.Sprintf("runs %d commands at a time (%s)", limit, quota.CommandsKey)) {
		t.Errorf("told %q", why)
	}
	for tool, args := range map[string]map[string]any{"list_dir": {"path": "."}, "process": {"action": "list"}} {
		if r := call(t, s, tool, args); r.Err != nil {
			t.Errorf("%s: %+v", tool, r.Err)
		}
	}
	cancel()
	if r := <-waits; r.Err == nil || r.Err.Code != pluginpb.CodeCancelled || !strings.Contains(r.Err.Message, quota.CommandsKey) {
		t.Errorf("a command that was cancelled while it waited: %+v", r)
	}
	go func() { waits <- again.Call(t.Context(), "exec", json.RawMessage(`{"command":"echo after"}`), nil) }()
	hosttest.WaitUntil(t, "the next command waits", func() bool { _, waiting := ledger.CountCalls("main"); return waiting == 1 })
	end()
	if r := <-waits; r.Err != nil || !strings.Contains(r.Text, "after") {
		t.Errorf("after the others: %+v", r)
	}
}

func TestHostsShareQuotaLedger(t *testing.T) {
	ledger := &quota.UsageLedger{}
	first := openSession(t, openWith(t, session.HostOptions{QuotaLedger: ledger}, onlyOne))
	second := openSession(t, openWith(t, session.HostOptions{QuotaLedger: ledger}, onlyOne))
	release := holding(t, first)
	waits := make(chan *session.Result)
	go func() { waits <- second.Call(context.Background(), "list_dir", json.RawMessage(`{"path":"."}`), nil) }()
	hosttest.WaitUntil(t, "the second host's call waits", func() bool { _, waiting := ledger.CountCalls("main"); return waiting == 1 })
	release()
	if r := <-waits; r.Err != nil {
		t.Error(r.Err)
	}
}

func TestLongQuotaWaitIsRefused(t *testing.T) {
	var records []audit.Record
	h := openWith(t, session.HostOptions{OnCallEnd: func(r audit.Record, _ *session.Result) { records = append(records, r) }},
		"PICOCLAW_AGENTS_DEFAULTS_LIMITS_CALLS_PER_MINUTE=1", "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=1")
	s := openSession(t, h)
	for n, tool := range []string{"list_dir", "list_dir", "nonsense"} {
		r := call(t, s, tool, map[string]any{"path": "."})
		if refused := r.Err != nil; refused != (n > 0) || refused && r.Err.Rule != quota.PerMinuteKey {
			t.Errorf("call %d: %+v", n, r.Err)
		}
	}
	if len(records) != 3 || records[2].Decision != "deny" || records[2].Rule != quota.PerMinuteKey {
		t.Errorf("records: %+v", records)
	}
}

// A call waits for a slot as long as its command may run, however many limits it waits for.
func TestQueuedCallIsRefusedAtTimeout(t *testing.T) {
	ledger := &quota.UsageLedger{}
	defer holding(t, openSession(t, openWith(t, session.HostOptions{QuotaLedger: ledger}, onlyOne)))()
	s := openSession(t, openWith(t, session.HostOptions{QuotaLedger: ledger}, onlyOne, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=1"))
	r := call(t, s, "exec", map[string]any{"command": "true"})
	if r.Err == nil || r.Err.Rule != quota.CallsKey || !strings.Contains(r.Err.Message, "this call's turn did not come within 1s") {
		t.Errorf("%+v", r.Err)
	}
}

func TestCancelledWaitNamesLimit(t *testing.T) {
	s := openSession(t, openWith(t, session.HostOptions{}, "PICOCLAW_AGENTS_DEFAULTS_LIMITS_CALLS_PER_MINUTE=1",
		"PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=600"))
	if r := call(t, s, "list_dir", map[string]any{"path": "."}); r.Err != nil {
		t.Fatal(r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := s.Call(ctx, "list_dir", json.RawMessage(`{"path":"."}`), func(session.CallEvent) { cancel() })
	if r.Err == nil || r.Err.Code != pluginpb.CodeCancelled ||
		!strings.Contains(r.Err.Message, "cancelled while it waited: agent main has made its 1 calls of this minute ("+quota.PerMinuteKey+")") {
		t.Errorf("%+v", r.Err)
	}
}

func TestPluginLimitStopsIdleInstance(t *testing.T) {
	s := openSession(t, openWith(t, session.HostOptions{}, "PICOCLAW_AGENTS_DEFAULTS_LIMITS_PLUGINS=1"))
	for range 2 {
		if r := call(t, s, "exec", map[string]any{"command": "true"}); r.Err != nil {
			t.Error(r.Err)
		}
		if r := call(t, s, "list_dir", map[string]any{"path": "."}); r.Err != nil {
			t.Error(r.Err)
		}
	}
	if r := call(t, s, "exec", map[string]any{"command": "sleep 300", "background": true}); r.Err != nil {
		t.Fatal(r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan *session.Result)
	go func() { ended <- s.Call(ctx, "list_dir", json.RawMessage(`{"path":"."}`), nil) }()
	if r := call(t, s, "process", map[string]any{"action": "list"}); r.Err != nil || !strings.Contains(r.Text, "sleep") {
		t.Errorf("the command in the background is gone: %+v", r)
	}
	cancel()
	if r := <-ended; r.Err == nil {
		t.Error("there was room for a second plugin process")
	}
}
