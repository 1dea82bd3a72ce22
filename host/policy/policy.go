// Package policy resolves the configuration, once for each agent, into one immutable value: what the agent may do.
//
// The three walls are built from that one value. The guard and the workspace take [Policy.Guard]; the kernel's wall
// takes [Policy.KernelPaths], which opens at least what the guard allows and as little more as a mount can express.
// A child session has a policy made by [Policy.Narrow], and nothing makes a wider one.
//
// The kernel knows directories and no patterns, so a whitelist pattern that ends in (/|$) is what is proposed for a
// directory: all walls then open the same. Where a whitelist opens more than the instance root may show, KernelPaths
// names the root as hidden.
//
// The package resolves the workspace (and creates it where that is its owner's plain wish), and does no other I/O.
// It must not know how plugins are started, what tools there are, or who asks.
package policy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Policy is what one agent may do. It never changes, and may be used from several goroutines; what its methods
// return belongs to the caller.
type Policy struct {
	agent     string
	home      string // absolute; resolved as far as it exists
	file      string // the configuration file, the same way; "" for none
	rootOK    bool   // allow_root_workspace
	guard     guard.Policy
	narrowing Child // by Narrow, with resolved paths
	tools     toolFilter
	deferred  []string // sorted names and globs of tools that clients have to search for; no wall
	plugins   pluginRules
	limits    Limits
	undo      Undo
	execEnv   []string
	isolation Isolation
	network   *Network // nil for the host's
	secrets   map[string]config.Secret
	origins   map[string]config.Origin // where the agent's settings came from, for hints
	elsewhere *strings.Replacer        // of the names of settings, for those that are set elsewhere for this agent
	digest    string
}

// Limits bound what one call may use, and how much of the host the agent has.
type Limits struct {
	ExecTimeout time.Duration // how long a command may run
	CronTimeout time.Duration // how long a command of a scheduled task may run
	ResultSize  int64         // the largest result of a call, in bytes
	Exec        limits.Limits // what a command may use
	Share       quota.Limits  // what all its calls may
}

// defaultResultSize is far more than a model can read and little enough to hold in memory for many calls.
const defaultResultSize = 16 << 20

// Undo says whether what the agent's changes destroy is kept, and how much of it. The agent has one store, so that this
// is the same for all its sessions.
type Undo struct {
	Enabled bool
	MaxSize int64 // bytes
	MaxAge  time.Duration
}

// Isolation is how the agent's processes are isolated.
type Isolation struct {
	Enabled     bool // namespaces and a mount view of their own
	Network     bool // whether a process that is granted the network has it
	ExposePaths []isolation.ExposePath
}

// Agent returns the id of the agent.
func (p *Policy) Agent() string { return p.agent }

// Home returns the instance root, absolute. No agent may write to it but in a workspace below it.
func (p *Policy) Home() string { return p.home }

// Workspace returns the agent's workspace, absolute and with its symbolic links resolved.
func (p *Policy) Workspace() string { return p.guard.Workspace }

// Guard returns the part of the policy that decides on paths and commands.
func (p *Policy) Guard() guard.Policy { return cloneGuard(p.guard) }

// Limits returns the limits.
func (p *Policy) Limits() Limits { return p.limits }

// Undo returns whether what changes destroy is kept.
func (p *Policy) Undo() Undo { return p.undo }

// ExecEnv returns the sorted names of the variables of the host's environment that commands get.
func (p *Policy) ExecEnv() []string { return slices.Clone(p.execEnv) }

// Isolation returns how the agent's processes are isolated.
func (p *Policy) Isolation() Isolation {
	i := p.isolation
	i.ExposePaths = slices.Clone(i.ExposePaths)
	return i
}

// Digest returns a stable hash, in hexadecimal, of everything that the policy allows: policies that allow the same
// have the same digest, whichever agent they are for.
func (p *Policy) Digest() string { return p.digest }

func cloneGuard(g guard.Policy) guard.Policy {
	g.AllowReadPaths = slices.Clone(g.AllowReadPaths)
	g.AllowWritePaths = slices.Clone(g.AllowWritePaths)
	g.Paths = slices.Clone(g.Paths)
	g.Protected = slices.Clone(g.Protected)
	g.Unprotected = slices.Clone(g.Unprotected)
	g.WorkspaceDeny = slices.Clone(g.WorkspaceDeny)
	g.WorkspaceAsk = slices.Clone(g.WorkspaceAsk)
	g.Exec.CustomDeny = slices.Clone(g.Exec.CustomDeny)
	g.Exec.CustomAllow = slices.Clone(g.Exec.CustomAllow)
	g.Exec.Rules = slices.Clone(g.Exec.Rules) // nothing in a rule is ever changed
	return g
}

// rawConfig encodes a plugin's free configuration; nil when there is none.
func rawConfig(m map[string]any) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	return json.Marshal(m)
}

// Located is a decision whose hints name the settings where this agent has them: what it sets itself, and what the
// environment or the command line sets, replaces what the configuration says for all, so that a change there would
// change nothing.
func (p *Policy) Located(d guard.Decision) guard.Decision {
	if p.elsewhere != nil {
		d.Hint, d.Setting = p.elsewhere.Replace(d.Hint), p.elsewhere.Replace(d.Setting)
	}
	return d
}

// elsewhereOf replaces the names of settings by where they are set, for those that the agent has from elsewhere; nil if
// there are none.
func elsewhereOf(agent *config.AgentConfig) *strings.Replacer {
	settings := agent.Settings()
	// a name before those that it goes on from
	slices.SortFunc(settings, func(a, b config.Setting) int { return cmp.Compare(len(b.Common), len(a.Common)) })
	var pairs []string
	for _, s := range settings {
		switch {
		case s.Common == "":
		case s.Own:
			pairs = append(pairs, s.Common, s.Key+" of the agent "+agent.ID+" ("+s.Origin.String()+")")
		case s.Origin.Source == config.VariableSource || s.Origin.Source == config.FlagSource:
			pairs = append(pairs, s.Common, s.Common+" ("+s.Origin.String()+")")
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}
