//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// told starts a command in the background and writes to it piece by piece. It returns what the last piece is answered
// with.
func told(t *testing.T, p *sdktest.Plugin, start args, pieces ...string) *pluginpb.Error {
	t.Helper()
	start["background"] = true
	session := must(t, p, "exec", start)["session"]
	defer p.Call("process", args{"action": "kill", "session": session})
	for _, piece := range pieces[:len(pieces)-1] {
		must(t, p, "process", args{"action": "write", "session": session, "data": piece})
	}
	return p.Call("process", args{"action": "write", "session": session, "data": pieces[len(pieces)-1]}).Err
}

// ruled starts the plugin with the guard's rules on, and again without them.
func ruled(t *testing.T, on bool) *sdktest.Plugin {
	t.Helper()
	return startPluginWith(t, sdktest.Options{
		Policy: func(p *guard.Policy) { p.Exec.DenyPatterns = on },
		Files:  map[string]string{"build/out": "kept"},
	})
}

// What a shell is told in the background is decided on like a command: otherwise one that is allowed would be the way
// to all.
func TestBackgroundInputIsDecided(t *testing.T) {
	p := ruled(t, true)
	for _, c := range []struct {
		command string
		pieces  []string
		pty     bool
	}{
		{"bash", []string{"rm -rf build\n"}, false},
		{"sh -i", []string{"echo hi\n", "rm -rf build\n"}, false},
		{"env sh", []string{"r", "m -rf build\n"}, false},
		{"bash", []string{"X=rm\n", "$X -rf build\n"}, false},
		{"bash", []string{"alias ll='rm -rf build'\n"}, false},
		{"bash", []string{"perl\n", "system \"rm -rf build\";\n"}, false},
		{"bash", []string{"for i in 1 2; do\n"}, false},
		{"bash", []string{strings.Repeat("echo hi\n", 1000), strings.Repeat("echo ho\n", 1500), "rm -rf build\n"}, false},
		{"bash", []string{strings.Repeat("echo hi\n", 3000)}, false},
		{"bash", []string{"r", "m -rf build\n" + strings.Repeat("#", guard.MaxCommandLength-len("m -rf build\n"))}, false},
		{"bash", []string{strings.Repeat("echo hi\n", 1000) + "r", "m -rf build\n" + strings.Repeat("# filler\n", 1800)},
			false},
		{"bash", []string{"git status\r", "rn\x7fm -rf build\r"}, true},
		{"bash", []string{"\x03", "sud\tid\r"}, true},
		{"python3 -i", []string{"import os\n", "os.system('rm -rf build')\n"}, false},
		{"make -f -", []string{"all:\n\trm -rf build\n"}, false},
	} {
		err := told(t, p, args{"command": c.command, "pty": c.pty}, c.pieces...)
		if err == nil || err.Code != pluginpb.CodeAccessDenied || err.Rule == "" || err.Hint == "" {
			t.Errorf("%s, told %.60q: %v; want a refusal with its rule and a hint", c.command, c.pieces, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "build", "out")); err != nil {
		t.Error(err)
	}
}

func TestInputOfOtherProgramsIsAllowed(t *testing.T) {
	p := ruled(t, true)
	for _, c := range []struct {
		command string
		pieces  []string
		pty     bool
	}{
		{"cat > out.txt", []string{"rm -rf build\n", "for i in\n", "$(\n"}, false},
		{"read answer; echo $answer", []string{"y\n"}, false},
		{"cat", []string{"a\x1b[A\t\x7f\n"}, true},
		{"bash", []string{"ls\n", "for i in 1 2; do echo $i; done\n", "X=1\n", "echo $X\n"}, false},
		{"bash", []string{"ls\r", "\x03", "\x04"}, true},
		{"python3 -i", []string{"for i in range(3):\n", "    print(i)\n\n"}, false},
	} {
		if err := told(t, p, args{"command": c.command, "pty": c.pty}, c.pieces...); err != nil {
			t.Errorf("%s, told %q: %v", c.command, c.pieces, err)
		}
	}
}

// Without the rules the same words are no refusal: it is they that hold.
func TestInputWithoutRulesIsAllowed(t *testing.T) {
	p := ruled(t, false)
	session := must(t, p, "exec", args{"command": "bash", "background": true})["session"].(string)
	must(t, p, "process", args{"action": "write", "session": session, "data": "rm -rf build; echo gone\n", "eof": true})
	until(t, p, session, "gone")
	if _, err := os.Stat(filepath.Join(p.Dir, "build")); err == nil {
		t.Error("it is still there")
	}
}
