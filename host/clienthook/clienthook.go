// Package clienthook reads the hook events of clients that have tools of their own, such as Claude Code, and writes the
// answers that they understand. It must not decide: host/session does.
package clienthook

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// clientsText has the tools of each client, with the effects of their arguments.
//
//go:embed clients.json
var clientsText []byte

// HookFormat describes the hooks of a client program: events, answers, and the effects of its tools.
type HookFormat struct {
	Name   string                  `json:"-"`
	Event  string                  `json:"event"`  // that comes before a call
	End    string                  `json:"end"`    // event at the end of a turn; empty for none
	Answer string                  `json:"answer"` // form of the answer: claude or gemini
	Asks   bool                    `json:"asks"`   // the client can ask its person
	Tools  map[string][]toolEffect `json:"tools"`
}

// toolEffect is one effect of a client's tool, with the name of the argument that holds the path, command or URL.
type toolEffect struct {
	Do       string `json:"do"` // as session.ClientToolActionKind, or patch
	From     string `json:"from"`
	Dir      string `json:"dir"`      // argument with the directory; empty for the event's
	Optional bool   `json:"optional"` // without the argument it is the directory
}

// ClientNames returns the names of all clients with hooks, sorted.
func ClientNames() []string {
	all, err := loadFormats()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all))
}

// FindFormat returns the hook format of a client.
func FindFormat(name string) (*HookFormat, error) {
	all, err := loadFormats()
	if err != nil {
		return nil, err
	}
	c := all[name]
	if c == nil {
		return nil, fmt.Errorf("there is no client %q; the clients with hooks are %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	c.Name = name
	return c, nil
}

func loadFormats() (all map[string]*HookFormat, err error) {
	err = json.Unmarshal(clientsText, &all)
	return all, err
}

// hookEvent is the message of a client to its hook. All clients use these field names. OpenCode sends them through a
// plugin that picoclaw writes.
type hookEvent struct {
	Event string         `json:"hook_event_name"`
	Tool  string         `json:"tool_name"`
	Input map[string]any `json:"tool_input"`
	Dir   string         `json:"cwd"`
}

// ParseToolCall returns the tool call that a hook message announces; nil if it announces something else.
func (c *HookFormat) ParseToolCall(text []byte) (*session.ClientToolCall, error) {
	var e hookEvent
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("the event of %s has an unknown form: %w", c.Name, err)
	}
	switch {
	case e.Event == "":
		return nil, fmt.Errorf("the event of %s has no hook_event_name", c.Name)
	case e.Event != c.Event:
		return nil, nil
	case e.Tool == "" || !filepath.IsAbs(e.Dir):
		return nil, fmt.Errorf("the event of %s has no tool_name, or no absolute cwd", c.Name)
	}
	call := &session.ClientToolCall{Tool: c.Name + "." + e.Tool, Args: e.Input, Dir: e.Dir}
	var err error
	if known, ok := c.Tools[e.Tool]; ok {
		for _, t := range known {
			actions, failure := t.actionsOfCall(e)
			call.Actions, err = append(call.Actions, actions...), errors.Join(err, failure)
		}
	} else if server, name, ok := splitMCPToolName(e.Tool); ok {
		call.Actions = []session.ClientToolAction{{Kind: session.CallMCPTool, Value: server, Tool: name}}
	}
	return call, err
}

// IsTurnEnd reports whether a hook message announces the end of the client's turn.
func (c *HookFormat) IsTurnEnd(text []byte) bool {
	var e hookEvent
	return json.Unmarshal(text, &e) == nil && e.Event != "" && e.Event == c.End
}

// splitMCPToolName splits the name that clients give to a tool of an MCP server.
func splitMCPToolName(name string) (server, tool string, ok bool) {
	for _, separator := range []string{"__", "_"} {
		rest, found := strings.CutPrefix(name, "mcp"+separator)
		if server, tool, ok = strings.Cut(rest, separator); found && ok && server != "" && tool != "" {
			return server, tool, true
		}
	}
	return "", "", false
}

// actionsOfCall returns the actions of a call that follow from one argument.
func (t toolEffect) actionsOfCall(e hookEvent) ([]session.ClientToolAction, error) {
	dir := e.Dir
	if given, _ := e.Input[t.Dir].(string); given != "" {
		if dir = given; !filepath.IsAbs(dir) {
			dir = filepath.Join(e.Dir, dir)
		}
	}
	values, err := argumentStrings(e.Input[t.From])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s of %s %w", t.From, e.Tool, err)
	case len(values) == 0 && t.Optional:
		values = []string{dir}
	case len(values) == 0:
		return nil, fmt.Errorf("%s has no %s", e.Tool, t.From)
	}
	if t.Do == string(session.RunCommand) && len(values) > 1 { // argv
		values = []string{quoteCommand(values)}
	}
	var out []session.ClientToolAction
	for _, value := range values {
		switch t.Do {
		case "patch":
			for _, path := range patchedPaths(value) {
				out = append(out, session.ClientToolAction{Kind: session.WritePath, Value: path, Dir: dir})
			}
			if len(out) == 0 {
				return nil, fmt.Errorf("the patch of %s names no file", e.Tool)
			}
		case string(session.ReachHost):
			u, err := url.Parse(value)
			if err != nil || u.Host == "" {
				return nil, fmt.Errorf("%s of %s is no URL", t.From, e.Tool)
			}
			out = append(out, session.ClientToolAction{Kind: session.ReachHost, Value: u.Host})
		default:
			out = append(out, session.ClientToolAction{Kind: session.ClientToolActionKind(t.Do), Value: value, Dir: dir})
		}
	}
	return out, nil
}

// argumentStrings returns an argument's string or list of strings; nothing if it is missing, null or empty.
func argumentStrings(value any) (out []string, err error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("is no list of strings")
			}
			out = append(out, text)
		}
		return out, nil
	}
	return nil, errors.New("is no string")
}

// quoteCommand returns a shell command with these words.
func quoteCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// patchedPaths returns the files that a patch in the format of apply_patch changes.
func patchedPaths(patch string) (all []string) {
	for line := range strings.Lines(patch) {
		for _, prefix := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
				all = append(all, strings.TrimSpace(path))
			}
		}
	}
	return all
}

// FormatAnswer returns the hook's answer for a decision; empty if the client continues as without a hook.
func (c *HookFormat) FormatAnswer(d guard.Decision) []byte {
	if d.Verdict == guard.Allow {
		return nil
	}
	verdict, reason := guard.Deny.String(), reasonText(d)
	if d.Verdict == guard.Ask && c.Asks {
		verdict = guard.Ask.String()
	}
	var answer any = map[string]string{"decision": verdict, "reason": reason}
	if c.Answer == "claude" {
		answer = map[string]any{"hookSpecificOutput": map[string]string{
			"hookEventName": c.Event, "permissionDecision": verdict, "permissionDecisionReason": reason}}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil // maps of strings always have a form
	}
	return append(text, '\n')
}

// reasonText returns the reason, rule and remedy of a refusal in one line.
func reasonText(d guard.Decision) string {
	text := "picoclaw: " + d.Reason
	if d.Rule != "" {
		text += " [" + d.Rule + "]"
	}
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return text
}
