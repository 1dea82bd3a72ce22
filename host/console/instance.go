package console

import (
	"context"
	"time"

	"github.com/picoclaw/picoclaw/host/doctor"
	"github.com/picoclaw/picoclaw/host/store"
)

// Instance is what the pages beside the calls show, and the little that they switch.
type Instance interface {
	// Agents are those of the configuration, in its order.
	Agents() ([]Agent, error)

	// Plugins are those that there are, or should be.
	Plugins() ([]Plugin, error)

	// Switch switches a plugin or a tool off or on, as `picoclaw plugin disable` does.
	Switch(off store.Off, on bool) error

	// Examine has an agent's walls attacked, and says which hold.
	Examine(ctx context.Context, agent string) (*doctor.Report, error)
}

// Agent is an agent, and what it may do.
type Agent struct {
	ID         string
	Workspace  string
	Restricted bool // to its workspace and what is opened besides
	Words      string
	Settings   []Setting // that somebody has set
	Plugins    []Held
	Network    Reach
	Jobs       bool          // its jobs run
	Heartbeat  time.Duration // 0 for none
}

// Setting is one with where it comes from.
type Setting struct{ Key, Value, Origin string }

// Held is a plugin as an agent has it.
type Held struct {
	ID      string
	Enabled bool
	Grants  string   // in effect
	Hosts   []string // the only ones that it is granted; none for all that the agent reaches
	Tools   []HeldTool
}

// HeldTool is a tool as an agent has it.
type HeldTool struct {
	Name     string
	Enabled  bool
	Switched bool   // off by the operator, and not by the configuration
	Why      string // it is off
}

// Reach is which hosts an agent reaches.
type Reach struct {
	Words            string
	Allow, Ask, Deny []string
}

// Plugin is a plugin or an MCP server.
type Plugin struct {
	ID, Version, Kind, State, Why, Doc string

	Source, Signer string
	Pins           []string // what its files have to hash to
	Installed      time.Time
	Asks, Granted  string
	Meaning        []string // of what it is granted
	Agents         []string // the only ones that it is for; all if there are none
	Tools          []Tool
	Off            []string // what of it is switched off
	Withdrawn      []string // what it does not offer any more, as it says other things than were accepted
	Waiting        string   // a version that waits for a yes
	Server         string   // the command or URL of an MCP server; empty for another plugin
	Diff           string   // what is different from what was accepted
}

// Tool is one of a plugin's, and what it says of itself.
type Tool struct{ Name, Doc string }
