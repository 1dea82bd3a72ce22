package hooks

// Options are what an operator says under "hooks".
type Options struct {
	Enabled *bool `json:"enabled,omitempty"` // true unless set
	// OnError says what happens to a call that a hook gives no answer about: "closed", the default, refuses it; "open"
	// lets it go on.
	OnError   string             `json:"on_error,omitempty"`
	Defaults  Defaults           `json:"defaults,omitzero"`
	Processes map[string]Process `json:"processes,omitempty"`

	// Hooks in the form of Claude Code's settings, by event.
	PreToolUse       []Group `json:"PreToolUse,omitempty"`
	PostToolUse      []Group `json:"PostToolUse,omitempty"`
	UserPromptSubmit []Group `json:"UserPromptSubmit,omitempty"`
	SessionStart     []Group `json:"SessionStart,omitempty"`
	SessionEnd       []Group `json:"SessionEnd,omitempty"`
	Stop             []Group `json:"Stop,omitempty"`
	SubagentStop     []Group `json:"SubagentStop,omitempty"`
	Notification     []Group `json:"Notification,omitempty"`
}

// Defaults are how long processes may take, in milliseconds; 0 means 500, 5000 and 60000.
type Defaults struct {
	Observer    int `json:"observer_timeout_ms,omitempty"`
	Interceptor int `json:"interceptor_timeout_ms,omitempty"`
	Approval    int `json:"approval_timeout_ms,omitempty"`
}

// Group are hooks that are asked about the same tools.
type Group struct {
	// Matcher is a list of names, as "Bash|Write", or else a regular expression that is found anywhere in the name; empty
	// or * for all. It is held against the tool's name, its full name, and Claude's name for it.
	Matcher string `json:"matcher,omitempty"`
	Hooks   []Hook `json:"hooks"`
}

// Hook is a command that is run for each question.
type Hook struct {
	Type    string   `json:"type"`           // "command"
	Command string   `json:"command"`        // for the shell; with Args, a program
	Args    []string `json:"args,omitempty"` // the program's arguments, no shell then
	Timeout float64  `json:"timeout,omitempty"`
	// OnFailure "block" has this hook refuse what it gives no answer about, whatever OnError says.
	OnFailure     string `json:"onFailure,omitempty"`
	StatusMessage string `json:"statusMessage,omitempty"` // not shown

	Grants
}

// Process is a program that lives on and is asked in JSON-RPC.
type Process struct {
	Enabled   *bool    `json:"enabled,omitempty"`  // true unless set
	Priority  int      `json:"priority,omitempty"` // lower ones are asked first, then by name
	Transport string   `json:"transport,omitempty"`
	Command   []string `json:"command"`
	Dir       string   `json:"dir,omitempty"`       // where it runs; the workspace if empty
	Observe   []string `json:"observe,omitempty"`   // kinds of events that it is told; * for all
	Intercept []string `json:"intercept,omitempty"` // before_tool, after_tool, approve_tool, before_llm, after_llm
	Grants
}

// Grants are what one hook may touch.
type Grants struct {
	Workspace string            `json:"workspace,omitempty"` // none, ro or rw; ro if empty
	Network   bool              `json:"network,omitempty"`   // all of it, where no hosts are named
	Hosts     []string          `json:"hosts,omitempty"`     // those that it reaches, and no others
	Secrets   []string          `json:"secrets,omitempty"`
	Read      []string          `json:"read,omitempty"`  // further paths, such as where the hook's script is
	Write     []string          `json:"write,omitempty"` // further paths that it may change
	Env       map[string]string `json:"env,omitempty"`
}

// events are the hooks by the events that they are for.
func (o *Options) events() map[Event][]Group {
	return map[Event][]Group{
		PreToolUse: o.PreToolUse, PostToolUse: o.PostToolUse, UserPromptSubmit: o.UserPromptSubmit,
		SessionStart: o.SessionStart, SessionEnd: o.SessionEnd, Stop: o.Stop, SubagentStop: o.SubagentStop,
		Notification: o.Notification,
	}
}
