package hooks

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Tools that type text into commands. A shell may run the text, so hooks see it like a command.
const (
	execTool    = "shell.exec"
	processTool = "shell.process"
)

// unfinishedInputLines holds lines typed into background commands without a newline. The next text continues the line.
type unfinishedInputLines struct {
	mu   sync.Mutex
	text map[unfinishedInputKey]string
}

// unfinishedInputKey identifies the background command that an unfinished line was typed into. The key has the policy
// instead of the session, because sessions with the same policy share background commands.
type unfinishedInputKey struct{ policy, command string }

// Limits of the stored lines: their number, and the bytes of each.
const (
	maxUnfinishedLines = 1024
	maxUnfinishedBytes = 16 << 10
)

// typedTextOfCall returns the text that a call types into a background command, and the command's name.
func typedTextOfCall(c session.HookedCall) (text, command string) {
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

// runHooksForTypedText runs PreToolUse hooks for typed text as for a command: once for the text, and once for the text
// after the unfinished line, since the command may have read that line or not.
func (h *Hooks) runHooksForTypedText(ctx context.Context, w sessionInfo, c session.HookedCall) (v EventVerdict) {
	text, command := typedTextOfCall(c)
	h.unfinished.mu.Lock()
	begun, full := h.unfinished.text[unfinishedInputKey{w.policy, command}], len(h.unfinished.text) >= maxUnfinishedLines
	h.unfinished.mu.Unlock()
	if full && begun == "" && unfinishedLine(text) != "" {
		v.Deny, v.Rule, v.Hint = "too many lines are unfinished", "hooks", "write whole lines, with their line ends"
		return v
	}
	for _, one := range []string{text, lineContinuations.Replace(begun + text)} {
		if one = strings.TrimRight(one, "\r\n"); one == "" || v.Deny != "" {
			continue
		}
		v = v.mergeWith(h.runPreToolUse(ctx, hookRequest{event: PreToolUse, sessionInfo: w, call: session.HookedCall{
			Tool: execTool, Args: encodeJSON(map[string]string{"command": one}), ID: c.ID}}))
		if v.Args != nil && v.Deny == "" {
			v.Deny, v.Rule = "a hook has changed text that is typed into a command, which can't be changed", "hooks"
		}
		if begun == "" {
			break
		}
	}
	return v
}

// lineContinuations joins lines that end in a backslash with the next line.
var lineContinuations = strings.NewReplacer("\\\r\n", "", "\\\n", "", "\\\r", "")

// storeUnfinishedLine stores the last typed line unless a newline ends it.
func (h *Hooks) storeUnfinishedLine(w sessionInfo, c session.HookedCall, r *session.Result) {
	text, command := typedTextOfCall(c)
	if command == "" {
		return
	}
	h.unfinished.mu.Lock()
	defer h.unfinished.mu.Unlock()
	key := unfinishedInputKey{w.policy, command}
	line := unfinishedLine(h.unfinished.text[key] + text)
	switch {
	case r.Err != nil && (r.Err.Code == pluginpb.CodeNotFound || r.Err.Code == pluginpb.CodeConflict), line == "":
		delete(h.unfinished.text, key) // the command or the line has ended
	case r.Err == nil || r.Err.Code == pluginpb.CodeTimeout: // a part of the text was written
		h.unfinished.text[key] = line
	}
}

// unfinishedLine returns the last line of a text, with the lines before it that end in a backslash.
func unfinishedLine(text string) string {
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
	return text[max(end, len(text)-maxUnfinishedBytes):]
}
