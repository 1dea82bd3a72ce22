package hooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
)

// CheckOptions returns the mistakes in options, sorted by key, that the table of configuration keys can't express.
func CheckOptions(o HookOptions) []*config.Error {
	c := &optionChecker{}
	for e, groups := range o.groupsByEvent() {
		for i, g := range groups {
			c.checkGroup(fmt.Sprintf("hooks.%s[%d]", e, i), g)
		}
	}
	for name, p := range o.Processes {
		c.checkProcess("hooks.processes."+name, p)
	}
	slices.SortStableFunc(c.mistakes, func(a, b *config.Error) int { return strings.Compare(a.Key, b.Key) })
	return c.mistakes
}

// optionChecker collects the invalid values in options.
type optionChecker struct{ mistakes []*config.Error }

func (c *optionChecker) addMistake(key, problem, cure string) {
	c.mistakes = append(c.mistakes, &config.Error{Key: key, Problem: problem, Cure: cure})
}

func (c *optionChecker) checkGroup(key string, g CommandHookGroup) {
	if _, err := newNameMatcher(g.Matcher); err != nil {
		c.addMistake(key+".matcher", fmt.Sprintf("%q is not a valid RE2 regular expression: %v", g.Matcher, err),
			"RE2 has no lookahead and no lookbehind")
	}
	if len(g.Hooks) == 0 {
		c.addMistake(key+".hooks", "is empty", "name a hook, or leave out the entry")
	}
	for i, h := range g.Hooks {
		hook := fmt.Sprintf("%s.hooks[%d]", key, i)
		if strings.TrimSpace(h.Command) == "" {
			c.addMistake(hook+".command", "is empty", "name the command to run")
		}
		c.checkGrants(hook, h.HookGrants)
	}
}

func (c *optionChecker) checkProcess(key string, p ProcessHookOptions) {
	if len(p.Command) == 0 || p.Command[0] == "" {
		c.addMistake(key+".command", "is empty", "name the program and its arguments")
	}
	if len(p.Intercept) == 0 && len(p.Observe) == 0 {
		c.addMistake(key, "neither intercepts nor observes anything", "list events in "+key+".intercept")
	}
	c.checkGrants(key, p.HookGrants)
}

func (c *optionChecker) checkGrants(key string, g HookGrants) {
	if len(g.Secrets) > 0 && len(g.Hosts) == 0 {
		c.addMistake(key+".secrets", "are only sent to hosts that are named, and none is",
			"name them in "+key+".hosts")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.addMistake(key+".env", fmt.Sprintf("%q is not a valid variable name", name), "")
		}
	}
}

// HookOptions is the "hooks" section of the configuration.
type HookOptions struct {
	Enabled *bool `json:"enabled,omitempty"` // default true
	// OnError is "closed", the default, or "open". Closed refuses a call if one of its hooks fails; open lets it
	// continue.
	OnError   string                        `json:"on_error,omitempty"`
	Defaults  ProcessHookTimeouts           `json:"defaults,omitzero"`
	Processes map[string]ProcessHookOptions `json:"processes,omitempty"`

	// Command hooks in the form of Claude Code's settings, by event.
	PreToolUse       []CommandHookGroup `json:"PreToolUse,omitempty"`
	PostToolUse      []CommandHookGroup `json:"PostToolUse,omitempty"`
	UserPromptSubmit []CommandHookGroup `json:"UserPromptSubmit,omitempty"`
	SessionStart     []CommandHookGroup `json:"SessionStart,omitempty"`
	SessionEnd       []CommandHookGroup `json:"SessionEnd,omitempty"`
	Stop             []CommandHookGroup `json:"Stop,omitempty"`
	SubagentStop     []CommandHookGroup `json:"SubagentStop,omitempty"`
	Notification     []CommandHookGroup `json:"Notification,omitempty"`
}

// ProcessHookTimeouts holds the timeouts of process hooks in milliseconds; 0 means 500, 5000 and 60000.
type ProcessHookTimeouts struct {
	Observer    int `json:"observer_timeout_ms,omitempty"`
	Interceptor int `json:"interceptor_timeout_ms,omitempty"`
	Approval    int `json:"approval_timeout_ms,omitempty"`
}

// CommandHookGroup is a list of command hooks with a common matcher.
type CommandHookGroup struct {
	// Matcher is a list of names, as "Bash|Write", or a regular expression that matches anywhere in a name; empty or
	// "*" matches all. It is compared with the tool's short name, full name, and Claude's name for it.
	Matcher string               `json:"matcher,omitempty"`
	Hooks   []CommandHookOptions `json:"hooks"`
}

// CommandHookOptions configure a command hook, a command that runs for each event.
type CommandHookOptions struct {
	Type    string   `json:"type"`           // "command"
	Command string   `json:"command"`        // shell command; a program if Args is set
	Args    []string `json:"args,omitempty"` // arguments of the program
	Timeout float64  `json:"timeout,omitempty"`
	// OnFailure "block" refuses the event if this hook fails, whatever OnError says.
	OnFailure     string `json:"onFailure,omitempty"`
	StatusMessage string `json:"statusMessage,omitempty"` // ignored

	HookGrants
}

// ProcessHookOptions configure a process hook, a long-running program with a JSON-RPC connection.
type ProcessHookOptions struct {
	Enabled   *bool    `json:"enabled,omitempty"`  // default true
	Priority  int      `json:"priority,omitempty"` // lower runs first, equal ones by name
	Transport string   `json:"transport,omitempty"`
	Command   []string `json:"command"`
	Dir       string   `json:"dir,omitempty"`       // working directory; the workspace if empty
	Observe   []string `json:"observe,omitempty"`   // kinds of events sent to the process; * for all
	Intercept []string `json:"intercept,omitempty"` // before_tool, after_tool, approve_tool, before_llm, after_llm
	HookGrants
}

// HookGrants is the access that a hook's program gets.
type HookGrants struct {
	Workspace string            `json:"workspace,omitempty"` // none, ro or rw; ro if empty
	Network   bool              `json:"network,omitempty"`   // all hosts, if Hosts is empty
	Hosts     []string          `json:"hosts,omitempty"`     // the only reachable hosts
	Secrets   []string          `json:"secrets,omitempty"`
	Read      []string          `json:"read,omitempty"`  // more readable paths, as the directory of the hook's script
	Write     []string          `json:"write,omitempty"` // more writable paths
	Env       map[string]string `json:"env,omitempty"`
}

func (o *HookOptions) groupsByEvent() map[HookEvent][]CommandHookGroup {
	return map[HookEvent][]CommandHookGroup{
		PreToolUse: o.PreToolUse, PostToolUse: o.PostToolUse, UserPromptSubmit: o.UserPromptSubmit,
		SessionStart: o.SessionStart, SessionEnd: o.SessionEnd, Stop: o.Stop, SubagentStop: o.SubagentStop,
		Notification: o.Notification,
	}
}
