package hooks

import (
	"encoding/json"
	"strings"
	"testing"
)

func formOf(t *testing.T, tool, name string) *toolAlias {
	t.Helper()
	for _, f := range aliasesOfTool(tool) {
		if f.name == name {
			return &f
		}
	}
	t.Fatalf("%s has no form %s", tool, name)
	return nil
}

func TestToolArgumentsToClaude(t *testing.T) {
	for _, c := range []struct{ tool, name, ours, theirs string }{
		{"shell.exec", "Bash", `{"command":"ls","timeout":5,"background":true,"cwd":"a"}`,
			`{"command":"ls","timeout":5000,"run_in_background":true,"cwd":"a"}`},
		{"filesystem.read_file", "Read", `{"path":"a/b"}`, `{"file_path":"/w/a/b"}`},
		{"filesystem.read_file", "Read", `{"path":"/etc/x","start_line":10,"end_line":19}`,
			`{"file_path":"/etc/x","offset":10,"limit":10}`},
		{"filesystem.read_file", "Read", `{"path":"x","end_line":5}`, `{"file_path":"/w/x","limit":5}`},
		{"filesystem.read_file", "Read", `{"path":"x","offset":5,"length":7}`, `{"file_path":"/w/x","byte_offset":5,"byte_length":7}`},
		{"filesystem.read_file", "Read", `{"path":"./a/../.env"}`, `{"file_path":"/w/./a/../.env"}`},
		{"filesystem.write_file", "Write", `{"path":"./x","content":"c"}`, `{"file_path":"/w/x","content":"c"}`},
		{"filesystem.write", "Write", `{"path":"x","content":"c","if_match":"e"}`, `{"file_path":"/w/x","content":"c","if_match":"e"}`},
		{"filesystem.append_file", "Edit", `{"path":"x","content":"c"}`, `{"file_path":"/w/x","new_string":"c"}`},
		{"filesystem.append_file", "Write", `{"path":"x","content":"c"}`, `{"file_path":"/w/x","content":"c"}`},
		{"filesystem.insert", "Edit", `{"path":"x","content":"c","line":3}`, `{"file_path":"/w/x","new_string":"c","line":3}`},
		{"filesystem.edit_file", "Edit", `{"path":"x","old_text":"a","new_text":"b"}`,
			`{"file_path":"/w/x","old_string":"a","new_string":"b"}`},
		{"filesystem.edit_file", "MultiEdit", `{"path":"x","edits":[{"old_text":"a","new_text":"b"}]}`,
			`{"file_path":"/w/x","edits":[{"old_string":"a","new_string":"b"}]}`},
		{"filesystem.edit_file", "Edit", `{"edits":[{"path":"x","old_text":"a","new_text":"b"}]}`,
			`{"file_path":"/w/x","edits":[{"file_path":"/w/x","old_string":"a","new_string":"b"}]}`},
		{"filesystem.edit", "Edit", `{"path":"x","old_string":"a","new_string":"b","count":0}`,
			`{"file_path":"/w/x","old_string":"a","new_string":"b","replace_all":true}`},
		{"filesystem.edit", "Edit", `{"path":"x","old_string":"a","new_string":"b","count":2}`,
			`{"file_path":"/w/x","old_string":"a","new_string":"b","count":2}`},
		{"grep.grep", "Grep", `{"pattern":"p","path":"a","include":"*.go","output":"files","case_sensitive":false,"max_results":3}`,
			`{"pattern":"p","path":"/w/a","glob":"*.go","output_mode":"files_with_matches","-i":true,"head_limit":3}`},
		{"grep.find", "Glob", `{"pattern":"*.go"}`, `{"pattern":"*.go"}`},
		{"filesystem.ls", "LS", `{"path":"."}`, `{"path":"/w"}`},
	} {
		f := formOf(t, c.tool, c.name)
		inputs, err := f.toClaudeInputs(json.RawMessage(c.ours), "/w")
		if err != nil || len(inputs) != 1 || !equalJSON(encodeJSON(inputs[0]), json.RawMessage(c.theirs)) {
			t.Errorf("%s %s is %s, want %s (%v)", c.tool, c.ours, encodeJSON(inputs), c.theirs, err)
			continue
		}
		back, err := f.fromClaudeInput(encodeJSON(inputs[0]), inputs[0], json.RawMessage(c.ours))
		if err != nil || !equalJSON(back, json.RawMessage(c.ours)) {
			t.Errorf("%s %s comes back as %s (%v)", c.tool, c.ours, back, err)
		}
	}
}

func TestChangedInputFromClaude(t *testing.T) {
	for _, c := range []struct{ tool, name, ours, updated, want string }{
		{"shell.exec", "Bash", `{"command":"ls"}`, `{"command":"ls","timeout":1500}`, `{"command":"ls","timeout":2}`},
		{"filesystem.read_file", "Read", `{"path":"x"}`, `{"file_path":"/w/y","offset":3,"limit":2}`,
			`{"path":"/w/y","start_line":3,"end_line":4}`},
		{"filesystem.read_file", "Read", `{"path":"x","start_line":1,"end_line":10}`, `{"file_path":"/w/x","offset":11,"limit":10}`,
			`{"path":"x","start_line":11,"end_line":20}`},
		{"filesystem.write_file", "Write", `{"path":"x","content":"a","if_match":"e"}`, `{"file_path":"/w/x","content":"b"}`,
			`{"path":"x","content":"b"}`},
		{"filesystem.edit", "Edit", `{"path":"x","old_string":"a","new_string":"b"}`,
			`{"file_path":"/w/x","old_string":"a","new_string":"b","replace_all":true}`,
			`{"path":"x","old_string":"a","new_string":"b","count":0}`},
		{"filesystem.edit_file", "Edit", `{"edits":[{"path":"x","old_text":"a","new_text":"b"}]}`,
			`{"file_path":"/w/x","edits":[{"file_path":"/w/x","old_string":"a","new_string":"c"}]}`,
			`{"edits":[{"path":"/w/x","old_text":"a","new_text":"c"}]}`},
		{"grep.grep", "Grep", `{"pattern":"p"}`, `{"pattern":"p","output_mode":"count","-i":true}`,
			`{"pattern":"p","output":"count","case_sensitive":false}`},
	} {
		f := formOf(t, c.tool, c.name)
		shown, err := f.toClaudeInputs(json.RawMessage(c.ours), "/w")
		if err != nil {
			t.Fatal(err)
		}
		back, err := f.fromClaudeInput(json.RawMessage(c.updated), shown[0], json.RawMessage(c.ours))
		if err != nil || !equalJSON(back, json.RawMessage(c.want)) {
			t.Errorf("%s %s, changed to %s, is %s, want %s (%v)", c.tool, c.ours, c.updated, back, c.want, err)
		}
	}
}

func TestMatchers(t *testing.T) {
	for _, c := range []struct{ matcher, tool, want string }{
		{"", "shell.exec", "Bash"}, {"*", "filesystem.rm", "mcp__filesystem__rm"},
		{"Bash", "shell.exec", "Bash"}, {"bash", "shell.exec", ""}, {"Write | Edit", "filesystem.edit_file", "Edit"},
		{"Write,MultiEdit", "filesystem.edit_file", "MultiEdit"}, {"Edit|Write", "filesystem.append_file", "Edit"},
		{"Write", "filesystem.append_file", "Write"}, {"exec", "shell.exec", "exec"}, {"exec", "exec", "exec"},
		{"Bash", "exec", "Bash"}, {"exe", "shell.exec", ""}, {"^shell\\.", "shell.exec", "shell.exec"},
		{"Notebook.*|Wri.*", "filesystem.write_file", "Write"}, {"mcp__github__search", "github.search", "mcp__github__search"},
		{"mcp__github", "github.search", "mcp__github__search"}, {"mcp__git", "github.search", ""},
		{"mcp__.*", "github.search", "mcp__github__search"}, {"Bash", "other.exec", ""}, {"rm|mv", "filesystem.rm", "rm"},
		{"|", "shell.exec", ""},
	} {
		m, err := newNameMatcher(c.matcher)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f := m.firstAlias(c.tool); f != nil {
			got = f.name
		}
		if got != c.want {
			t.Errorf("%q matches %s as %q, want %q", c.matcher, c.tool, got, c.want)
		}
	}
}

// Whatever a hook writes, it is read as an answer or refused, and what says no in one form is never lost.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "text", `{}`, `{"decision":"block","reason":"no"}`, `{"continue":false}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","updatedInput":{"a":1}}}`,
		"log\n{\"decision\":\"block\"}", `{"decision":"block","decision":"approve"}`, `{"hookSpecificOutput":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range []HookEvent{PreToolUse, PostToolUse, UserPromptSubmit, Stop} {
			a, err := parseCommandOutput(e, data)
			if err != nil && (a.decision != none || a.args != nil) {
				t.Errorf("%s: an error and an answer: %+v", e, a)
			}
			if a.args != nil && !json.Valid(a.args) {
				t.Errorf("%s: arguments that are no JSON: %q", e, a.args)
			}
			var plain struct{ Decision string }
			if e == PreToolUse && err == nil && json.Unmarshal(data, &plain) == nil && plain.Decision == "block" &&
				strings.Contains(string(data), `"decision"`) && a.decision != deny {
				t.Errorf("a refusal was lost: %q", data)
			}
		}
	})
}

// A call's arguments survive the way into Claude's form and back, whatever they are.
func FuzzTranslation(f *testing.F) {
	f.Add("filesystem.edit_file", `{"path":"a","edits":[{"old_text":"x","new_text":"y"}]}`)
	f.Add("shell.exec", `{"command":"ls","timeout":99999999999999999999}`)
	f.Add("filesystem.read", `{"path":"~/x","end_line":3,"offset":1,"start_line":"a"}`)
	f.Add("grep.grep", `{"pattern":"x","output":"other","case_sensitive":"no","limit":1}`)
	f.Fuzz(func(t *testing.T, tool, args string) {
		var object map[string]json.RawMessage
		if !equalJSON(json.RawMessage(args), json.RawMessage(args)) || json.Unmarshal([]byte(args), &object) != nil || object == nil {
			return
		}
		for _, fm := range aliasesOfTool(tool) {
			for _, field := range fm.args {
				if _, taken := object[field.theirs]; taken && field.theirs != field.ours {
					return // no tool of ours has such an argument
				}
			}
			inputs, err := fm.toClaudeInputs(json.RawMessage(args), "/w")
			if err != nil {
				t.Fatal(err)
			}
			if len(inputs) != 1 {
				continue
			}
			back, err := fm.fromClaudeInput(encodeJSON(inputs[0]), inputs[0], json.RawMessage(args))
			if err != nil || !equalJSON(back, json.RawMessage(args)) {
				t.Errorf("%s as %s: %s became %s (%v)", tool, fm.name, args, back, err)
			}
		}
	})
}
