package clienthook

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestReadCall(t *testing.T) {
	t.Parallel()
	action := func(kind session.ClientToolActionKind, value, dir string) session.ClientToolAction {
		return session.ClientToolAction{Kind: kind, Value: value, Dir: dir}
	}
	for _, c := range []struct {
		client, event string
		want          []session.ClientToolAction // nil with an error
	}{
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/p"}`,
			[]session.ClientToolAction{action(session.RunCommand, "ls", "/p")}},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Grep","tool_input":{"pattern":"x"},"cwd":"/p"}`,
			[]session.ClientToolAction{action(session.ReadPath, "/p", "/p")}},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"mcp__git_hub__push__all","tool_input":{},"cwd":"/p"}`,
			[]session.ClientToolAction{{Kind: session.CallMCPTool, Value: "git_hub", Tool: "push__all"}}},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"WebFetch","tool_input":{"url":"https://a.test:8443/x"},"cwd":"/p"}`,
			[]session.ClientToolAction{{Kind: session.ReachHost, Value: "a.test:8443"}}},
		{"codex", `{"hook_event_name":"PreToolUse","tool_name":"apply_patch","cwd":"/p","tool_input":{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b c\n*** Move to: ../d\n*** End Patch"}}`,
			[]session.ClientToolAction{action(session.WritePath, "a", "/p"), action(session.WritePath, "b c", "/p"), action(session.WritePath, "../d", "/p")}},
		{"codex", `{"hook_event_name":"PreToolUse","tool_name":"shell","cwd":"/p","tool_input":{"command":["echo","it's"]}}`,
			[]session.ClientToolAction{action(session.RunCommand, `'echo' 'it'\''s'`, "/p")}},
		{"gemini", `{"hook_event_name":"BeforeTool","tool_name":"run_shell_command","cwd":"/p","tool_input":{"command":"make","dir_path":"sub"}}`,
			[]session.ClientToolAction{action(session.RunCommand, "make", "/p/sub")}},
		{"gemini", `{"hook_event_name":"BeforeTool","tool_name":"read_many_files","cwd":"/p","tool_input":{"include":["a","b"]}}`,
			[]session.ClientToolAction{action(session.ReadPath, "a", "/p"), action(session.ReadPath, "b", "/p")}},
		{"opencode", `{"hook_event_name":"tool.execute.before","tool_name":"edit","cwd":"/p","tool_input":{"filePath":"/p/x"}}`,
			[]session.ClientToolAction{action(session.WritePath, "/p/x", "/p")}},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":7},"cwd":"/p"}`, nil},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":null,"cwd":"/p"}`, nil},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"x"},"cwd":"p"}`, nil},
		{"claude", `{"tool_name":"Write"}`, nil},
		{"codex", `{"hook_event_name":"PreToolUse","tool_name":"apply_patch","cwd":"/p","tool_input":{"command":"garbage"}}`, nil},
		{"gemini", `[]`, nil},
		{"gemini", ``, nil},
	} {
		client, err := FindFormat(c.client)
		if err != nil {
			t.Fatal(err)
		}
		call, err := client.ParseToolCall([]byte(c.event))
		switch {
		case c.want == nil:
			if err == nil {
				t.Errorf("%s: no error", c.event)
			}
		case err != nil:
			t.Errorf("%s: %v", c.event, err)
		default:
			if diff := cmp.Diff(c.want, call.Actions); diff != "" {
				t.Errorf("%s: %s", c.event, diff)
			}
		}
	}
}

func TestOtherEventsAreIgnored(t *testing.T) {
	t.Parallel()
	client, err := FindFormat("claude")
	if err != nil {
		t.Fatal(err)
	}
	if call, err := client.ParseToolCall([]byte(`{"hook_event_name":"Stop","cwd":"/p"}`)); call != nil || err != nil {
		t.Errorf("%v, %v", call, err)
	}
}

func TestTurnEnds(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "opencode": "session.idle"} {
		client, err := FindFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := client.IsTurnEnd([]byte(`{"hook_event_name":"` + event + `","cwd":"/p"}`)); got != (event != "") {
			t.Errorf("%s: %q ends the turn: %v", name, event, got)
		}
		if client.IsTurnEnd([]byte(`{"hook_event_name":"`+client.Event+`"}`)) || client.IsTurnEnd(nil) {
			t.Errorf("%s: another message ends the turn", name)
		}
	}
}

func TestWriteAnswer(t *testing.T) {
	t.Parallel()
	denied := guard.Decision{Verdict: guard.Deny, Rule: "exec.sudo", Reason: "no", Hint: "do without"}
	for _, c := range []struct {
		client string
		d      guard.Decision
		want   string
	}{
		{"claude", guard.Decision{}, ""},
		{"claude", denied, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"picoclaw: no [exec.sudo]; do without"}}`},
		{"claude", guard.Decision{Verdict: guard.Ask, Reason: "sure?"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"picoclaw: sure?"}}`},
		{"codex", guard.Decision{Verdict: guard.Ask, Reason: "sure?"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"picoclaw: sure?"}}`},
		{"gemini", denied, `{"decision":"deny","reason":"picoclaw: no [exec.sudo]; do without"}`},
	} {
		client, err := FindFormat(c.client)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		text := client.FormatAnswer(c.d)
		if len(text) == 0 && c.want == "" {
			continue
		}
		if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %s, want %s", c.client, text, c.want)
		}
	}
}

func FuzzReadCall(f *testing.F) {
	f.Add("claude", []byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/p"}`))
	f.Add("codex", []byte(`{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":["*** Add File: "]},"cwd":"/p"}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		client, err := FindFormat(name)
		if err != nil {
			return
		}
		call, err := client.ParseToolCall(text)
		if err == nil && call != nil {
			if _, known := client.Tools[call.Tool[len(name)+1:]]; known && len(call.Actions) == 0 {
				t.Errorf("%q does nothing", text)
			}
		}
	})
}
