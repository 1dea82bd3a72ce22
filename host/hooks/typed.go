package hooks

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The tools that type text into commands. A shell runs it, so hooks are asked about it as about a command.
const (
	execTool    = "shell.exec"
	processTool = "shell.process"
)

// typedLines are unfinished lines that were typed into background commands: the next text continues them.
type typedLines struct {
	mu   sync.Mutex
	open map[typedLine]string
}

// typedLine names a background command. Sessions with the same policy share an instance of the plugin.
type typedLine struct{ policy, command string }

// The bounds of what is kept: lines, and the bytes of one.
const (
	maxTypedLines = 1024
	maxTypedLine  = 16 << 10
)

// typedBy returns the text that a call types, and the name of the background command that it types into.
func typedBy(c session.HookCall) (text, command string) {
	var args struct{ Action, Session, Data, Stdin string }
	switch {
	case c.Tool != execTool && c.Tool != processTool, json.Unmarshal(c.Args, &args) != nil:
		return "", ""
	case c.Tool == execTool:
		return args.Stdin, ""
	case args.Action == "write":
		return args.Data, args.Session
	}
	return "", ""
}

// askTyped asks about the text that a call types into a command, as about a command of its own: with the line that it
// continues, and without, as it can't be told here whether the command has read that.
func (h *Hooks) askTyped(ctx context.Context, w where, c session.HookCall) (v Verdict) {
	text, command := typedBy(c)
	h.typed.mu.Lock()
	begun, full := h.typed.open[typedLine{w.policy, command}], len(h.typed.open) >= maxTypedLines
	h.typed.mu.Unlock()
	if full && begun == "" && unfinished(text) != "" {
		v.Deny, v.Rule, v.Hint = "too many lines are unfinished", "hooks", "write whole lines, with their line ends"
		return v
	}
	for _, one := range []string{text, continued.Replace(begun + text)} {
		if one = strings.TrimRight(one, "\r\n"); one == "" || v.Deny != "" {
			continue
		}
		v = v.and(h.ask(ctx, question{event: PreToolUse, where: w, call: session.HookCall{
			Tool: execTool, Args: encode(map[string]string{"command": one}), ID: c.ID}}))
		if v.Args != nil && v.Deny == "" {
			v.Deny, v.Rule = "a hook has changed text that is typed into a command, which can't be changed", "hooks"
		}
		if begun == "" {
			break
		}
	}
	return v
}

// continued joins lines that end in a backslash with the next.
var continued = strings.NewReplacer("\\\r\n", "", "\\\n", "", "\\\r", "")

// noteTyped remembers the line that a write has left unfinished.
func (h *Hooks) noteTyped(w where, c session.HookCall, r *session.Result) {
	text, command := typedBy(c)
	if command == "" {
		return
	}
	h.typed.mu.Lock()
	defer h.typed.mu.Unlock()
	at := typedLine{w.policy, command}
	line := unfinished(h.typed.open[at] + text)
	switch {
	case r.Err != nil && (r.Err.Code == pluginpb.CodeNotFound || r.Err.Code == pluginpb.CodeConflict), line == "":
		delete(h.typed.open, at) // the command is over, or the line is
	case r.Err == nil || r.Err.Code == pluginpb.CodeTimeout: // a part of it was written
		if h.typed.open == nil {
			h.typed.open = map[typedLine]string{}
		}
		h.typed.open[at] = line
	}
}

// unfinished is the last line of a text, with those that it continues, unless it has an end.
func unfinished(text string) string {
	end := len(text)
	for {
		end = strings.LastIndexAny(text[:end], "\r\n")
		if end < 0 {
			end = 0
			break
		}
		if !strings.HasSuffix(text[:end], `\`) {
			end++
			break
		}
	}
	return text[max(end, len(text)-maxTypedLine):]
}
