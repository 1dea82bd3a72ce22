package main

import (
	"maps"
	"os"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// given is a command as the host has decided on it.
func given(req *sdk.Request[execInput]) guard.Command {
	c := guard.Command{Text: req.Args.Command, Dir: req.Args.Cwd, Env: maps.Clone(req.Args.Env)}
	c.Kept = true // where it is not, the policy that is sent doesn't ask
	if c.Env == nil {
		c.Env = make(map[string]string)
	}
	if _, ok := c.Env["HOME"]; !ok {
		c.Env["HOME"] = os.Getenv("HOME")
	}
	if pinned, err := guard.MachineShell(); err == nil {
		c.Dialect = pinned.Dialect
	}
	return c
}

// tell decides whether a command in the background may be told something, and remembers it: a shell runs what it is
// told, and so do other programs. The guard decides as if all of it had been there from the beginning.
func tell(env sdk.Environment, session *sessions.Session, data string) error {
	if data == "" || session.PTY && strings.Trim(data, interrupts) == "" {
		return nil
	}
	return session.Hear(func(told string) (string, error) {
		begun := told[strings.LastIndexByte(told, '\n')+1:] // what is written now goes on with this line
		told = last(told, max(guard.MaxCommand-len(data), len(begun)))
		d, cause := judge(env, session, told, data)
		if d.Rule == "exec.too-long" || d.Rule == "exec.too-complex" {
			told = begun // all that was told is too much to follow
			d, cause = judge(env, session, told, data)
		}
		if d.Verdict != guard.Allow && cause {
			hint := d.Hint
			if d.Rule == "exec.syntax" {
				hint = "write whole commands at a time, up to the end of their last line"
			}
			return "", (&sdk.Error{Code: sdk.AccessDenied, Message: d.Reason, Rule: d.Rule}).WithHint("%s", hint)
		}
		return last(told+data, guard.MaxCommand), nil
	})
}

// judge decides on a command that is told something behind what it was told before, and reports whether that is the
// cause: what the command was started in spite of is no reason any more.
func judge(env sdk.Environment, session *sessions.Session, told, data string) (d guard.Decision, cause bool) {
	command := session.Given
	command.Stdin = typed(session, told)
	before := env.Guard.Command(command)
	command.Stdin = typed(session, told+data)
	d = env.Guard.Command(command)
	return d, d.Rule != before.Rule || d.Reason != before.Reason
}

// last are the last lines of a text that have at most so many bytes.
func last(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := len(text) - most
	if text[cut-1] == '\n' {
		return text[cut:]
	}
	return text[cut+strings.IndexByte(text[cut:], '\n')+1:]
}

// interrupts are keys of a terminal that only end or stop something: ^C, ^D, ^Z and ^\.
const interrupts = "\x03\x04\x1a\x1c"

// typed is what a command reads of what it is told. On a terminal, keys edit the line that they are typed into,
// complete it, or fetch another one: what such a line becomes is not known, which a NUL says that no code may have.
func typed(session *sessions.Session, data string) string {
	if !session.PTY {
		return data
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\n' && r < ' ' || r == 0x7f:
			return 0
		}
		return r
	}, data)
}
