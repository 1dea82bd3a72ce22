//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestArgumentConversions(t *testing.T) {
	type input struct {
		Paths []string `json:"paths" claim:"read"`
		Times int      `json:"times,omitempty"`
	}
	tool, err := session.NewBuiltinTool("look", "Looks at files.", func(_ context.Context, _ *session.Session, in input) (string, error) {
		return fmt.Sprint(in.Paths, in.Times), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	own := session.BuiltinPlugin{ID: "own", Tools: []session.BuiltinTool{tool}}
	var last audit.Record
	h := openWith(t, session.HostOptions{Builtin: []session.BuiltinPlugin{own}, OnCallEnd: func(r audit.Record, _ *session.Result) { last = r }})
	s := openSession(t, h)
	for _, test := range []struct {
		tool, args string
		text       string // empty for a refused call
		decision   guard.Verdict
		logged     map[string]any
	}{
		{"exec", `{"command":"echo a","timeout":"5","cwd":null,"background":"false"}`,
			"a\n[argument \"background\": the string \"false\" was used as false]\n[argument \"timeout\": the string \"5\" was used as 5]",
			guard.Allow, map[string]any{"command": "echo a", "timeout": int64(5), "background": false}},
		{"exec", `{"command":"echo b","env":"{\"GIT_SSH_COMMAND\":\"sudo x\"}"}`, "", guard.Deny, nil},
		{"exec", `{"command":"echo c","protected_paths":"[\".git/config\"]"}`, "", guard.Ask, nil},
		{"look", `{"paths":"[\"a\"]","times":null}`, "[a] 0\n[argument \"paths\": JSON text was used as an array]",
			guard.Allow, map[string]any{"paths": []any{"a"}}},
		{"look", `{"paths":"[\"/etc/shadow\"]"}`, "", guard.Deny, map[string]any{"paths": []any{"/etc/shadow"}}},
		{"look", `{"paths":["a"],"time":1}`, "", guard.Deny, nil},
	} {
		r := s.Call(t.Context(), test.tool, json.RawMessage(test.args), nil)
		if (r.Err == nil) != (test.text != "") || test.text != "" && r.Text != test.text {
			t.Errorf("%s: %q, %v; want %q", test.args, r.Text, r.Err, test.text)
		}
		if last.Decision != test.decision.String() || test.logged != nil && !reflect.DeepEqual(last.Args, test.logged) {
			t.Errorf("%s: logged %s %v; want %s %v", test.args, last.Decision, last.Args, test.decision, test.logged)
		}
	}
	r := s.Call(t.Context(), "look", json.RawMessage(`{"path":["a"]}`), nil)
	if r.Err == nil || !strings.Contains(r.Err.Message, `did you mean "paths"`) {
		t.Errorf("%v", r.Err)
	}
}
