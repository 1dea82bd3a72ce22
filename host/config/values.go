package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// AgentDefaults is the configuration section agents.defaults.
type AgentDefaults struct {
	Workspace                 string `koanf:"workspace"` // absolute
	RestrictToWorkspace       bool   `koanf:"restrict_to_workspace"`
	AllowReadOutsideWorkspace bool   `koanf:"allow_read_outside_workspace"`
	AllowRootWorkspace        bool   `koanf:"allow_root_workspace"`

	Limits QuotaLimits `koanf:"limits"`
	Run    RunSettings `koanf:"run"`

	AgentLoopSettings `koanf:",squash"`
}

// RunSettings is the configuration section agents.defaults.run.
type RunSettings struct {
	Limits ExecLimits `koanf:"limits"`
}

// QuotaLimits is the configuration section agents.defaults.limits; 0 is no limit.
type QuotaLimits struct {
	CallsAtOnce       int64 `koanf:"calls_at_once"`
	CommandsPerCPU    int64 `koanf:"commands_per_cpu"`
	CallsPerMinute    int64 `koanf:"calls_per_minute"`
	OutputMBPerMinute int64 `koanf:"output_mb_per_minute"`
	Plugins           int64 `koanf:"plugins"`
}

// Tools is the configuration section tools.
type Tools struct {
	Set             string   `koanf:"set"` // "picoclaw", "module" or "all"
	Enabled         []string `koanf:"enabled"`
	Disabled        []string `koanf:"disabled"`
	Deferred        []string `koanf:"deferred"`
	Resources       []string `koanf:"resources"`
	Prompts         []string `koanf:"prompts"`
	Sampling        []string `koanf:"sampling"`
	AllowReadPaths  []string `koanf:"allow_read_paths"`
	AllowWritePaths []string `koanf:"allow_write_paths"`
	Exec            Exec     `koanf:"exec"`
	Cron            Cron     `koanf:"cron"`
	Undo            Undo     `koanf:"undo"`
}

// Exec is the configuration section tools.exec.
type Exec struct {
	EnableDenyPatterns  bool             `koanf:"enable_deny_patterns"`
	CustomDenyPatterns  []string         `koanf:"custom_deny_patterns"`
	CustomAllowPatterns []string         `koanf:"custom_allow_patterns"`
	Rules               []map[string]any `koanf:"rules"`   // checked, for [guard.ParseExecRules]
	Profile             string           `koanf:"profile"` // "default" or "seed_strict"
	UndoableDeletes     bool             `koanf:"undoable_deletes"`
	TimeoutSeconds      int64            `koanf:"timeout_seconds"`
	Env                 []string         `koanf:"env"`
	Limits              ExecLimits       `koanf:"limits"`
}

// ExecLimits is the configuration section tools.exec.limits.
type ExecLimits struct {
	Processes  int64  `koanf:"processes"`
	Memory     string `koanf:"memory"` // for [ParseSize]
	CPUSeconds int64  `koanf:"cpu_seconds"`
	FileSize   string `koanf:"file_size"` // for [ParseSize]
	OpenFiles  int64  `koanf:"open_files"`
}

// Cron is the configuration section tools.cron.
type Cron struct {
	Enabled            bool  `koanf:"enabled"`
	AllowCommand       bool  `koanf:"allow_command"`
	ExecTimeoutMinutes int64 `koanf:"exec_timeout_minutes"`
}

// Undo is the configuration section tools.undo.
type Undo struct {
	Enabled    bool   `koanf:"enabled"`
	MaxSize    string `koanf:"max_size"` // for [ParseSize]
	MaxAgeDays int64  `koanf:"max_age_days"`
}

// Isolation is the configuration section isolation.
type Isolation struct {
	Enabled     bool                    `koanf:"enabled"`
	Network     bool                    `koanf:"network"`
	ExposePaths []isolation.ExposedPath `koanf:"expose_paths"` // one per target
}

// Network is the configuration section network.
type Network struct {
	Allow    []string            `koanf:"allow"`
	Deny     []string            `koanf:"deny"`
	Ask      []string            `koanf:"ask"`
	Requests map[string][]string `koanf:"requests"`
	Methods  map[string][]string `koanf:"methods"`
	From     []string            `koanf:"from"`
	Hosts    map[string][]string `koanf:"hosts"`
	Ports    []uint16            `koanf:"ports"`
}

// Secret is the source of a secret value, and the requests into which the proxy inserts the value. Agents never see the
// value.
type Secret struct {
	From struct {
		Env     string   `koanf:"env"`
		File    string   `koanf:"file"`
		Command []string `koanf:"command"`
	} `koanf:"from"`
	Hosts []string `koanf:"hosts"`
	As    struct {
		Header string `koanf:"header"`
		Value  string `koanf:"value"`
	} `koanf:"as"`
}

// Audit is the configuration section audit.
type Audit struct {
	MaxSize  string `koanf:"max_size"` // for [ParseSize]
	MaxFiles int64  `koanf:"max_files"`
	Sync     string `koanf:"sync"`     // "always" or "interval"
	OnError  string `koanf:"on_error"` // "refuse" or "continue"

	Witness        string `koanf:"witness"` // a file or a URL; "" for none
	WitnessRecords int64  `koanf:"witness_records"`
	WitnessSeconds int64  `koanf:"witness_seconds"`
}

// Log is the configuration section log.
type Log struct {
	Level  string `koanf:"level"`  // "trace", "debug", "info", "warn", "error" or "off"
	Format string `koanf:"format"` // "text" or "json"
}

// ModuleRestriction restricts an agent's built-in tools to some actions of a module.
type ModuleRestriction struct {
	Module      string            `koanf:"module"`
	Actions     []string          `koanf:"actions"` // nil for all
	Constraints ModuleConstraints `koanf:"constraints"`
}

// ModuleConstraints limit a module's actions.
type ModuleConstraints struct {
	Paths       []string `koanf:"paths"`         // absolute, or starting with [WorkspaceTemplate]
	MaxFileSize string   `koanf:"max_file_size"` // for [ParseSize]
}

// AgentPlugins selects the plugins of one agent by id or glob.
type AgentPlugins struct {
	Enabled  []string `koanf:"enabled"`
	Disabled []string `koanf:"disabled"`
}

// Plugin has the operator's settings for one plugin.
type Plugin struct {
	Enabled bool           `koanf:"enabled"`
	Dev     string         `koanf:"dev"`     // absolute build directory, or ""
	Grants  pluginpb.Grant `koanf:"grants"`  // given by the operator
	Network *Network       `koanf:"network"` // allowed hosts among the agent's; nil for all
	Config  map[string]any `koanf:"config"`

	// Granted says that the configuration sets grants, even empty ones.
	Granted bool `koanf:"-"`
}

// MCPServer has the settings of one MCP server.
type MCPServer struct {
	Enabled   bool              `koanf:"enabled"`
	Command   string            `koanf:"command"`
	Args      []string          `koanf:"args"`
	Env       map[string]string `koanf:"env"`
	URL       string            `koanf:"url"`
	Headers   map[string]string `koanf:"headers"`
	Files     string            `koanf:"files"`
	Workspace string            `koanf:"workspace"` // "none", "ro" or "rw"
	Network   []string          `koanf:"network"`
	Secrets   []string          `koanf:"secrets"`
	Programs  []string          `koanf:"programs"`
	Roots     bool              `koanf:"roots"`
	Claims    map[string]string `koanf:"claims"`
	Agents    []string          `koanf:"agents"`
}

// Digest returns a hash of the server's settings, except whether the server is enabled.
func (s MCPServer) Digest() string {
	s.Enabled = true
	text, err := json.Marshal(s)
	if err != nil {
		return "" // texts, lists and maps of texts have JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// FileProtection is the configuration section workspace.protect: added protected files, and disabled built-in ones.
type FileProtection struct {
	Enabled bool     `koanf:"enabled"`
	Deny    []string `koanf:"deny"`
	Ask     []string `koanf:"ask"`
	Allow   []string `koanf:"allow"`
}

// PluginSignatures are the settings for plugin signatures.
type PluginSignatures struct {
	Required bool     `koanf:"required"`
	Keys     []string `koanf:"keys"` // minisign's public keys
}

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
	Host         string       `koanf:"host"`
	Port         int64        `koanf:"port"`
	AllowHosts   []string     `koanf:"allow_hosts"`
	Console      bool         `koanf:"console"`
	HotReload    bool         `koanf:"hot_reload"`
	DrainSeconds int64        `koanf:"drain_seconds"`
	OAuth        GatewayOAuth `koanf:"oauth"`
}

// GatewayOAuth is the configuration section gateway.oauth.
type GatewayOAuth struct {
	Issuer   string              `koanf:"issuer"`
	JWKS     string              `koanf:"jwks"`
	Audience string              `koanf:"audience"`
	Agents   map[string][]string `koanf:"agents"` // subjects and e-mail addresses by agent
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
