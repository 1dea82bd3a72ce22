//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"

	settings "github.com/picoclaw/picoclaw/sdk/exec"
)

// Commands without a terminal wait for nobody; the operator and the call decide otherwise.
func TestCommandsWithoutATerminalDoNotWait(t *testing.T) {
	t.Setenv("TERM", "screen")
	t.Setenv("EDITOR", "vi")
	t.Setenv("VISUAL", "vi")
	const show = `echo "$TERM,$PAGER,$GIT_TERMINAL_PROMPT,$DEBIAN_FRONTEND,$VISUAL"`
	p := startPlugin(t)
	for _, test := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{}, "dumb,cat,0,noninteractive,"},
		{map[string]any{"env": map[string]string{"TERM": "vt100", "PAGER": "more"}}, "vt100,more,0,noninteractive,"},
		{map[string]any{"pty": true}, "screen,,,,"},
		{map[string]any{"pty": true, "env": map[string]string{"TERM": "vt220"}}, "vt220,,,,"},
	} {
		test.args["command"] = show
		if r := p.Call("exec", test.args); strings.TrimSpace(r.Text) != test.want || r.Err != nil {
			t.Errorf("%v: %q, %v", test.args, r.Text, r.Err)
		}
	}
	r := p.Call("exec", map[string]any{"command": "git init -q . && git -c user.name=u -c user.email=u@x commit --allow-empty"})
	if r.Err == nil || r.Err.Code != "exit_status" || !strings.Contains(r.Text, "no terminal for an editor") {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
	r = p.Call("exec", map[string]any{"command": "git -c core.editor='echo mine >' -c user.name=u -c user.email=u@x commit --allow-empty && git log"})
	if r.Err != nil || !strings.Contains(r.Text, "mine") {
		t.Errorf("with an editor in git's configuration: %q, %v", r.Text, r.Err)
	}
	cmd := exec.Command("sh", "-c", show+"; echo $EDITOR")
	cmd.Env = commandEnvironment(settings.CommandSettings{Env: []string{"TERM=ansi", "EDITOR=true"}}, nil, nil, false)
	if out, err := cmd.Output(); err != nil || string(out) != "ansi,cat,0,noninteractive,\ntrue\n" {
		t.Errorf("with the operator's: %q, %v", out, err)
	}
}

func TestTerminalSetsTERM(t *testing.T) {
	t.Setenv("TERM", "dumb")
	if r := startPlugin(t).Call("exec", map[string]any{"command": "echo $TERM", "pty": true}); strings.TrimSpace(r.Text) != "xterm-256color" {
		t.Errorf("%q, %v", r.Text, r.Err)
	}
}
