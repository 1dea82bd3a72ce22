package console

import (
	"context"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/store"
)

// Backend provides the data of the pages about agents and plugins, and executes their actions.
type Backend interface {
	// Agents returns the configured agents in order.
	Agents() ([]Agent, error)

	// Plugins returns all plugins, including missing ones.
	Plugins() ([]Plugin, error)

	// SetToolEnabled disables or enables a plugin or tool, as `picoclaw plugin disable` does.
	SetToolEnabled(off store.DisableRule, on bool) error

	// Examine tests an agent's layers.
	Examine(ctx context.Context, agent string) (*doctor.Report, error)
}

// Agent describes an agent and its access.
type Agent struct {
	ID         string
	Workspace  string
	Restricted bool // to its workspace and allowed paths
	Words      string
	Settings   []AgentSetting // explicitly set
	Plugins    []AgentPlugin
	Network    AgentNetworkAccess
	Jobs       bool          // its jobs are enabled
	Heartbeat  time.Duration // 0 for none
}

// AgentSetting is a configuration setting with its origin.
type AgentSetting struct{ Key, Value, Origin string }

// AgentPlugin is an agent's access to a plugin.
type AgentPlugin struct {
	ID      string
	Enabled bool
	Grants  string   // in effect
	Hosts   []string // the only allowed ones; none for all of the agent's
	Tools   []AgentTool
}

// AgentTool is an agent's access to a tool.
type AgentTool struct {
	Name     string
	Enabled  bool
	Switched bool   // disabled by the operator, not by the configuration
	Why      string // why it is disabled
}

// AgentNetworkAccess lists the hosts that an agent may reach.
type AgentNetworkAccess struct {
	Words            string
	Allow, Ask, Deny []string
	Ports            []uint16 // of servers in its sandbox that this machine reaches
}

// Plugin is a plugin or an MCP server.
type Plugin struct {
	ID, Version, Kind, State, Why, Doc string

	Source, Signer string
	Pins           []string // hashes of its files
	Installed      time.Time
	Asks, Granted  string
	Meaning        []string // of its grants
	Agents         []string // all if empty
	Tools          []PluginTool
	Off            []string // disabled tools
	Withdrawn      []string // tools whose definition changed
	Waiting        string   // version that waits for approval
	Server         string   // command or URL of an MCP server; empty for other plugins
	Diff           string   // changes since approval
}

// PluginTool is a tool of a plugin with its description.
type PluginTool struct{ Name, Doc string }

// refusingLayer returns the layer that refused a call or made it fail, according to the audit entry; empty if none.
func refusingLayer(r audit.Record) string {
	family, _, _ := strings.Cut(r.Rule, ".")
	switch {
	case !r.WasDenied() && (r.Error == "" || r.Rule == "tools"):
		return ""
	case r.Rule == "stop":
		return "stopped by the operator"
	case family == "audit":
		return "the record"
	case family == "hooks":
		return "a hook"
	case r.Decision == "ask" && r.WasDenied() && r.Approval == nil:
		return "nobody answered"
	case r.Decision == "ask" && r.WasDenied():
		return "a person"
	case r.Rule == "plugin disable", family == "tools" && !strings.HasPrefix(r.Rule, "tools.exec"):
		return "switched off"
	case r.WasDenied() && r.Rule == "":
		return "not a call"
	case strings.HasPrefix(r.Rule, "agents.defaults.limits."):
		return "the agent's limits"
	case r.WasDenied():
		return "guard"
	case family == "network", family == "isolation":
		return "network"
	case family == "workspace", family == "path", family == "limits":
		return "file handles"
	}
	return "" // the tool's own error
}
