//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/output"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type args = map[string]any

// must calls a tool that has to work and returns its structured result.
func must(t *testing.T, p *sdktest.Plugin, tool string, a args) map[string]any {
	t.Helper()
	r := p.Call(tool, a)
	if r.Err != nil {
		t.Fatalf("%s %v: %v", tool, a, r.Err)
	}
	var out map[string]any
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// until polls a background command until its output has a text in it, and returns all of the output.
func until(t *testing.T, p *sdktest.Plugin, session, text string) string {
	t.Helper()
	var all strings.Builder
	cursor := 0.0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		out := must(t, p, "process", args{"action": "poll", "session": session, "cursor": cursor, "wait": 2})
		if text, ok := out["output"].(string); ok {
			all.WriteString(text)
			cursor = out["cursor"].(float64)
		}
		if strings.Contains(all.String(), text) || (out["running"] == false && out["more"] == nil && text == "") {
			return all.String()
		}
	}
	t.Fatalf("%q does not come; there is %q", text, all.String())
	return ""
}

func TestCommandReadsStdin(t *testing.T) {
	p := startPlugin(t)
	if out := must(t, p, "exec", args{"command": "cat; echo end",
		"stdin": "one\ntwo\n"}); out["stdout"] != "one\ntwo\nend\n" {
		t.Errorf("%v", out)
	}
	if out := must(t, p, "exec", args{"command": "cat; echo end"}); out["stdout"] != "end\n" {
		t.Errorf("without input: %v", out)
	}
	if out := must(t, p, "exec", args{"command": "head -c 5 >/dev/null",
		"stdin": strings.Repeat("x", 1<<20)}); out["exit_code"] != 0.0 {
		t.Errorf("not reading it all: %v", out)
	}
	if out := must(t, p, "exec", args{"command": "tty && stty size",
		"pty": true}); !strings.Contains(out["stdout"].(string), "24 80") {
		t.Errorf("on a terminal: %v", out)
	}
}

func TestBackgroundCommandReadsInput(t *testing.T) {
	p := startPlugin(t)
	s := must(t, p, "exec", args{"command": "echo ready; while read -r line; do echo \"got $line\"; done; echo over",
		"background": true})["session"].(string)
	until(t, p, s, "ready\n")
	must(t, p, "process", args{"action": "write", "session": s, "data": "a\nb\n"})
	if got := until(t, p, s, "got b\n"); !strings.HasSuffix(got, "got a\ngot b\n") {
		t.Errorf("%q", got)
	}
	if r := p.Call("process", args{"action": "list"}); !strings.Contains(r.Text, s+"  running") {
		t.Errorf("%q", r.Text)
	}
	must(t, p, "process", args{"action": "write", "session": s, "eof": true})
	until(t, p, s, "over\n")
	until(t, p, s, "")
	if r := p.Call("process", args{"action": "write", "session": s, "data": "x"}); r.Err.GetCode() != "conflict" {
		t.Errorf("writing to one that has ended: %q, %v", r.Text, r.Err)
	}
	for _, a := range []args{{"action": "poll", "session": "s9"}, {"action": "poll"},
		{"action": "signal", "session": s, "signal": "NOPE"},
		{"action": "resize", "session": s, "rows": 1, "cols": 1}, {"action": "poll", "session": s, "cursor": 9999}} {
		if r := p.Call("process", a); r.Err == nil {
			t.Errorf("%v: %q", a, r.Text)
		}
	}
}

func TestTerminalInputAndResize(t *testing.T) {
	p := startPlugin(t)
	s := must(t, p, "exec", args{"command": "trap 'stty size' WINCH; echo ready; while :; do read -r l && echo \"<$l>\"; done", "background": true, "pty": true})["session"].(string)
	until(t, p, s, "ready")
	must(t, p, "process", args{"action": "write", "session": s, "data": "hello\n"})
	until(t, p, s, "<hello>")
	must(t, p, "process", args{"action": "resize", "session": s, "rows": 50, "cols": 132})
	must(t, p, "process", args{"action": "write", "session": s, "data": "again\n"})
	until(t, p, s, "50 132")
	must(t, p, "process", args{"action": "write", "session": s, "data": "\x03"})
	if out := must(t, p, "process", args{"action": "kill", "session": s}); out["running"] == true && out["why"] == nil {
		t.Errorf("%v", out)
	}
}

func TestPollingLosesNoOutput(t *testing.T) {
	p := startPlugin(t)
	s := must(t, p, "exec", args{"command": "seq 200000", "background": true})["session"].(string)
	got := until(t, p, s, "200000\n")
	if lines := strings.Count(got, "\n"); lines != 200_000 || !strings.HasPrefix(got, "1\n2\n") {
		t.Errorf("%d lines of 200,000", lines)
	}
}

func TestBackgroundCommandStops(t *testing.T) {
	p := startPlugin(t)
	stubborn := must(t, p, "exec", args{"command": "trap '' TERM; echo $$; while :; do sleep 1; done",
		"background": true})["session"].(string)
	until(t, p, stubborn, "\n")
	began := time.Now()
	out := must(t, p, "process", args{"action": "kill", "session": stubborn})
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	_ = out
	short := must(t, p, "exec", args{"command": "sleep 300", "background": true, "timeout": 1})["session"].(string)
	until(t, p, short, "")
	var said string
	for time.Since(began) < time.Minute && !strings.Contains(said, "timed out after 1s") {
		said = p.Call("process", args{"action": "poll", "session": short}).Text
	}
	if !strings.Contains(said, "timed out after 1s") {
		t.Errorf("%q", said)
	}
	asked := must(t, p, "exec", args{"command": "trap 'echo bye; exit 3' USR1; echo ready; while :; do sleep 0.05; done",
		"background": true})["session"].(string)
	until(t, p, asked, "ready")
	must(t, p, "process", args{"action": "signal", "session": asked, "signal": "SIGUSR1"})
	until(t, p, asked, "bye")
}

func TestBackgroundCommandLimit(t *testing.T) {
	p := startPlugin(t)
	var running []string
	for range sessions.MaxSessions {
		running = append(running, must(t, p, "exec", args{"command": "sleep 300", "background": true})["session"].(string))
	}
	if r := p.Call("exec", args{"command": "true", "background": true}); r.Err.GetCode() != "conflict" {
		t.Errorf("one more: %q, %v", r.Text, r.Err)
	}
	must(t, p, "process", args{"action": "kill", "session": running[3]})
	until(t, p, running[3], "")
	must(t, p, "exec", args{"command": "true", "background": true})
	if r := p.Call("process", args{"action": "poll", "session": running[3]}); r.Err.GetCode() != "not_found" {
		t.Errorf("the one that made room: %q, %v", r.Text, r.Err)
	}
}

func TestLongOutputIsKeptInAFile(t *testing.T) {
	p := startPlugin(t)
	out := must(t, p, "exec", args{"command": "seq 100000"})
	whole, _ := out["whole_output"].(string)
	data, err := os.ReadFile(filepath.Join(p.Dir, whole))
	if err != nil || strings.Count(string(data), "\n") != 100_000 {
		t.Errorf("%q has %d lines, %v", whole, strings.Count(string(data), "\n"), err)
	}
	for range output.MaxOutputFiles {
		must(t, p, "exec", args{"command": "seq 100000"})
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, output.OutputDir, "*.txt"))
	if err != nil || len(files) != output.MaxOutputFiles {
		t.Errorf("%d outputs are kept, %v", len(files), err)
	}
}

// What can't be done is said with the thing that is wrong, and what would be right.
func TestErrorsNameObjectAndRemedy(t *testing.T) {
	p := startPlugin(t)
	if err := os.WriteFile(filepath.Join(p.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	session := must(t, p, "exec", args{"command": "exec sleep 307", "background": true})["session"]
	for _, c := range []struct {
		tool             string
		args             args
		code, says, hint string
	}{
		{"process", args{"action": "kill"}, "invalid_argument", "kill needs session", "action=list"},
		{"process", args{"action": "poll", "session": "zz"}, "not_found", `"zz"`, "action list"},
		{"process", args{"action": "signal", "session": session, "signal": "64"}, "invalid_argument", `"64"`, "TERM"},
		{"process", args{"action": "signal", "session": session, "signal": "SIGNONE"}, "invalid_argument", `"SIGNONE"`,
			"by their numbers"},
		{"exec", args{"command": "true", "cwd": "missing"}, "not_found", `no directory "missing"`, "leave cwd out"},
		{"exec", args{"command": "true", "cwd": "file"}, "invalid_argument", `"file" is not a directory`, "leave cwd out"},
	} {
		r := p.Call(c.tool, c.args)
		if r.Err == nil || r.Err.Code != c.code || !strings.Contains(r.Err.Message, c.says) || !strings.Contains(r.Err.Hint,
			c.hint) {
			t.Errorf("%s %v: %+v", c.tool, c.args, r.Err)
		}
	}
	must(t, p, "process", args{"action": "signal", "session": session, "signal": "9"})
	until(t, p, session.(string), "")
	if out := must(t, p, "process", args{"action": "poll", "session": session}); out["signal"] != "killed" {
		t.Errorf("after signal 9: %v", out)
	}
}
