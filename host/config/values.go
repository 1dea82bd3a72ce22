package config

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

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
	Allow   []string            `koanf:"allow"`
	Deny    []string            `koanf:"deny"`
	Ask     []string            `koanf:"ask"`
	Methods map[string][]string `koanf:"methods"`
	From    []string            `koanf:"from"`
	Hosts   map[string][]string `koanf:"hosts"`
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
