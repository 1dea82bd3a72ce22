package main

import (
	"maps"
	"os"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// newGuardCommand returns a call's command in the form in which the host passed it to the guard.
func newGuardCommand(req *sdk.Request[execInput]) guard.Command {
	c := guard.Command{Text: req.Args.Command, Dir: req.Args.Cwd, Env: maps.Clone(req.Args.Env)}
	c.Undoable = true // where it is not, the policy that is sent doesn't ask
	if c.Env == nil {
		c.Env = make(map[string]string)
	}
	if _, ok := c.Env["HOME"]; !ok {
		c.Env["HOME"] = os.Getenv("HOME")
	}
	if pinned, err := guard.FindShell(); err == nil {
		c.Dialect = pinned.Dialect
	}
	return c
}

// guardTypedInput asks the guard about input for a background command, and records the input. The guard decides as if
// the command had received all its input at the start.
func guardTypedInput(env sdk.Environment, session *sessions.BackgroundCommand, data string) error {
	if data == "" || session.PTY && strings.Trim(data, interruptKeys) == "" {
		return nil
	}
	return session.UpdateInput(func(earlier string) (string, error) {
		openLine := earlier[strings.LastIndexByte(earlier, '\n')+1:] // data continues this line
		earlier = lastLines(earlier, max(guard.MaxCommandLength-len(data), len(openLine)))
		d, cause := decideInput(env, session, earlier, data)
		if d.Rule == "exec.too-long" || d.Rule == "exec.too-complex" {
			earlier = openLine // the earlier input is too long or too complex
			d, cause = decideInput(env, session, earlier, data)
		}
		if d.Verdict != guard.Allow && cause {
			hint := d.Hint
			if d.Rule == "exec.syntax" {
				hint = "write whole commands at a time, up to the end of their last line"
			}
			return "", (&sdk.Error{Code: sdk.AccessDenied, Message: d.Reason, Rule: d.Rule}).WithHint("%s", hint)
		}
		return lastLines(earlier+data, guard.MaxCommandLength), nil
	})
}

// decideInput decides on a command with earlier and new input. cause reports whether the new input matters.
func decideInput(env sdk.Environment, session *sessions.BackgroundCommand, earlier, data string) (d guard.Decision, cause bool) {
	command := session.Given
	command.Stdin = effectiveInput(session, earlier)
	before := env.Guard.DecideCommand(command)
	command.Stdin = effectiveInput(session, earlier+data)
	d = env.Guard.DecideCommand(command)
	return d, d.Rule != before.Rule || d.Reason != before.Reason
}

// lastLines returns the last whole lines of a text, up to a number of bytes.
func lastLines(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	cut := len(text) - maxBytes
	if text[cut-1] == '\n' {
		return text[cut:]
	}
	return text[cut+strings.IndexByte(text[cut:], '\n')+1:]
}

// interruptKeys are terminal keys that only interrupt, end or suspend: ^C, ^D, ^Z and ^\.
const interruptKeys = "\x03\x04\x1a\x1c"

// effectiveInput returns input as the command reads it. A line with editing keys is unknown and becomes a NUL.
func effectiveInput(session *sessions.BackgroundCommand, data string) string {
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
