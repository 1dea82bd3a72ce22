package config

import (
	"encoding/json"
	"maps"
	"slices"
)

// AgentLoopSettings are the settings for the agent loop in agents.defaults.
type AgentLoopSettings struct {
	Model             string         `koanf:"model"` // name in model_list; may be empty
	Instructions      string         `koanf:"instructions"`
	MaxTokens         int64          `koanf:"max_tokens"`
	MaxIterations     int64          `koanf:"max_tool_iterations"`
	MaxRetries        int64          `koanf:"max_llm_retries"`
	RetryBackoff      int64          `koanf:"llm_retry_backoff_secs"`
	SummarizeMessages int64          `koanf:"summarize_message_threshold"`
	SummarizePercent  int64          `koanf:"summarize_token_percent"`
	MaxParallelTurns  int64          `koanf:"max_parallel_turns"`
	Budget            TurnBudget     `koanf:"budget"`
	Subturn           SubagentLimits `koanf:"subturn"`
	Subagents         Subagents      `koanf:"subagents"`
}

// Subagents lists the agents to which an agent may delegate.
type Subagents struct {
	AllowAgents []string `koanf:"allow_agents"` // ids, or * for any
}

// TurnBudget limits one turn of an agent; zero means no limit.
type TurnBudget struct {
	Tokens  int64   `koanf:"tokens"`
	CostUSD float64 `koanf:"cost_usd"`
	Calls   int64   `koanf:"calls"`
	Minutes int64   `koanf:"minutes"`
}

// SubagentLimits limits the subagents of an agent.
type SubagentLimits struct {
	MaxDepth           int64 `koanf:"max_depth"`
	MaxConcurrent      int64 `koanf:"max_concurrent"`
	TimeoutMinutes     int64 `koanf:"default_timeout_minutes"`
	TokenBudget        int64 `koanf:"default_token_budget"`
	ConcurrencyTimeout int64 `koanf:"concurrency_timeout_sec"` // seconds
}

// Heartbeat is the configuration section heartbeat.
type Heartbeat struct {
	Enabled  bool  `koanf:"enabled"`
	Interval int64 `koanf:"interval"` // minutes
}

// Model is a language model in model_list.
type Model struct {
	Name          string            `koanf:"model_name"`
	Model         string            `koanf:"model"` // "protocol/name"
	APIBase       string            `koanf:"api_base"`
	APIKey        string            `koanf:"api_key"` // or $NAME
	Secret        string            `koanf:"secret"`
	Headers       map[string]string `koanf:"headers"`
	ContextWindow int64             `koanf:"context_window"` // tokens; 0 if unknown
	InputUSD      float64           `koanf:"input_usd"`      // per million tokens
	OutputUSD     float64           `koanf:"output_usd"`
	CacheReadUSD  float64           `koanf:"cache_read_usd"`
	CacheWriteUSD float64           `koanf:"cache_write_usd"`
	Command       []string          `koanf:"command"`
	Hosts         []string          `koanf:"hosts"`
}

// Gateway is the configuration section gateway.
type Gateway struct {
	Host         string   `koanf:"host"`
	Port         int64    `koanf:"port"`
	AllowHosts   []string `koanf:"allow_hosts"`
	Console      bool     `koanf:"console"`
	HotReload    bool     `koanf:"hot_reload"`
	DrainSeconds int64    `koanf:"drain_seconds"`
}

// Fleet is the configuration section fleet.
type Fleet struct {
	URL         string   `koanf:"url"`
	Tenant      string   `koanf:"tenant"`
	Credentials string   `koanf:"credentials"`
	Name        string   `koanf:"name"`
	Trust       []string `koanf:"trust"` // minisign's public keys
}

// Approvals is the configuration section approvals.
type Approvals struct {
	WaitSeconds int64    `koanf:"wait_seconds"`
	Origins     []string `koanf:"origins"`
}

// Telemetry is the configuration section telemetry.
type Telemetry struct {
	Endpoint string            `koanf:"endpoint"`
	Headers  map[string]string `koanf:"headers"` // ${NAME} in them is a secret
	Insecure bool              `koanf:"insecure"`
	Content  bool              `koanf:"content"`
	Sample   float64           `koanf:"sample"` // of 1
}

// Models returns the language models in order.
func (c *Config) Models() []Model { return slices.Clone(c.sections.Models) }

// Gateway returns the gateway settings.
func (c *Config) Gateway() Gateway { return c.sections.Gateway }

// Fleet returns the fleet settings.
func (c *Config) Fleet() Fleet {
	f := c.sections.Fleet
	f.Trust = slices.Clone(f.Trust)
	return f
}

// Approvals returns the settings for approval requests.
func (c *Config) Approvals() Approvals {
	a := c.sections.Approvals
	a.Origins = slices.Clone(a.Origins)
	return a
}

// Telemetry returns the telemetry settings.
func (c *Config) Telemetry() Telemetry {
	t := c.sections.Telemetry
	t.Headers = maps.Clone(t.Headers)
	return t
}

// Hooks returns the section hooks of the configuration as a JSON object.
func (c *Config) Hooks() json.RawMessage { return slices.Clone(c.hooks) }
