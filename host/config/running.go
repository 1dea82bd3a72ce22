package config

import (
	"maps"
	"slices"
)

// Thinking are the settings of agents.defaults about an agent that runs here.
type Thinking struct {
	Model             string    `koanf:"model"` // of the model list; empty for none
	Instructions      string    `koanf:"instructions"`
	MaxTokens         int64     `koanf:"max_tokens"`
	MaxIterations     int64     `koanf:"max_tool_iterations"`
	MaxRetries        int64     `koanf:"max_llm_retries"`
	RetryBackoff      int64     `koanf:"llm_retry_backoff_secs"`
	SummarizeMessages int64     `koanf:"summarize_message_threshold"`
	SummarizePercent  int64     `koanf:"summarize_token_percent"`
	MaxParallelTurns  int64     `koanf:"max_parallel_turns"`
	Budget            Budget    `koanf:"budget"`
	Subturn           Subturn   `koanf:"subturn"`
	Subagents         Subagents `koanf:"subagents"`
}

// Subagents says who an agent may have work for it.
type Subagents struct {
	AllowAgents []string `koanf:"allow_agents"` // ids, or * for any
}

// Budget bounds one turn; a zero is no bound.
type Budget struct {
	Tokens  int64 `koanf:"tokens"`
	Cents   int64 `koanf:"cents"`
	Calls   int64 `koanf:"calls"`
	Minutes int64 `koanf:"minutes"`
}

// Subturn bounds subagents.
type Subturn struct {
	MaxDepth           int64 `koanf:"max_depth"`
	MaxConcurrent      int64 `koanf:"max_concurrent"`
	TimeoutMinutes     int64 `koanf:"default_timeout_minutes"`
	TokenBudget        int64 `koanf:"default_token_budget"`
	ConcurrencyTimeout int64 `koanf:"concurrency_timeout_sec"` // seconds
}

// Heartbeat are the settings of heartbeat.
type Heartbeat struct {
	Enabled  bool  `koanf:"enabled"`
	Interval int64 `koanf:"interval"` // minutes
}

// Model is an element of model_list.
type Model struct {
	Name          string            `koanf:"model_name"`
	Model         string            `koanf:"model"` // "protocol/name"
	APIBase       string            `koanf:"api_base"`
	APIKey        string            `koanf:"api_key"` // or $NAME
	Secret        string            `koanf:"secret"`
	Headers       map[string]string `koanf:"headers"`
	ContextWindow int64             `koanf:"context_window"` // tokens; 0 when not known
	InputCents    int64             `koanf:"input_cents"`    // for a million tokens
	OutputCents   int64             `koanf:"output_cents"`
	Command       []string          `koanf:"command"`
	Hosts         []string          `koanf:"hosts"`
}

// Gateway are the settings of gateway.
type Gateway struct {
	Host         string   `koanf:"host"`
	Port         int64    `koanf:"port"`
	AllowHosts   []string `koanf:"allow_hosts"`
	HotReload    bool     `koanf:"hot_reload"`
	DrainSeconds int64    `koanf:"drain_seconds"`
}

// Hooks are the settings of hooks.
type Hooks struct {
	Enabled  bool   `koanf:"enabled"`
	OnError  string `koanf:"on_error"` // "closed" or "open"
	Defaults struct {
		ObserverTimeout    int64 `koanf:"observer_timeout_ms"`
		InterceptorTimeout int64 `koanf:"interceptor_timeout_ms"`
		ApprovalTimeout    int64 `koanf:"approval_timeout_ms"`
	} `koanf:"defaults"`
	Processes map[string]HookProcess    `koanf:"processes"`
	Events    map[string][]MatchedHooks `koanf:",remain"` // by event
}

// MatchedHooks are commands for the tools that a regular expression matches.
type MatchedHooks struct {
	Matcher string        `koanf:"matcher"`
	Hooks   []HookCommand `koanf:"hooks"`
}

// HookCommand is a command that is run at an event.
type HookCommand struct {
	Type       string `koanf:"type"`
	Command    string `koanf:"command"`
	Timeout    int64  `koanf:"timeout"` // seconds; 0 when not set
	HookGrants `koanf:",squash"`
}

// HookProcess is a process that is asked as long as the host runs.
type HookProcess struct {
	Enabled    *bool             `koanf:"enabled"` // true when not set
	Priority   int64             `koanf:"priority"`
	Transport  string            `koanf:"transport"`
	Command    []string          `koanf:"command"`
	Dir        string            `koanf:"dir"`
	Env        map[string]string `koanf:"env"`
	Observe    []string          `koanf:"observe"`
	Intercept  []string          `koanf:"intercept"`
	HookGrants `koanf:",squash"`
}

// HookGrants are what a hook may touch.
type HookGrants struct {
	Workspace string   `koanf:"workspace"` // "none", "ro" or "rw"; "ro" when empty
	Read      []string `koanf:"read"`
	Network   bool     `koanf:"network"`
	Hosts     []string `koanf:"hosts"`
	Secrets   []string `koanf:"secrets"`
}

// Models returns the language models, in the order of the list.
func (c *Config) Models() []Model { return slices.Clone(c.models) }

// Gateway returns how the gateway serves.
func (c *Config) Gateway() Gateway { return c.gateway }

// Hooks returns which hooks there are.
func (c *Config) Hooks() Hooks {
	h := c.hooks
	h.Processes, h.Events = maps.Clone(h.Processes), maps.Clone(h.Events)
	return h
}
