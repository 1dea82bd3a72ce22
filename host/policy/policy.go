// Package policy resolves the configuration of each agent into one immutable value: the agent's permissions.
//
// All three layers use this value. Guard and workspace use [Policy.GuardPolicy]; the kernel layer uses
// [Policy.KernelLayerPaths], which opens at least what the guard allows, and as little more as mounts permit.
// [Policy.NarrowPolicy] creates the policies of child sessions; nothing widens one.
//
// The kernel opens directories, not patterns, so a whitelist pattern for a directory should end in (/|$): then all
// layers open the same paths. KernelLayerPaths hides the home where a whitelist would open it.
//
// The package resolves the workspace, creates a default one, and does no other I/O. It must not know how plugins start,
// which tools exist, or who calls them.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Policy is the immutable set of an agent's permissions, for concurrent use. Callers own returned values.
type Policy struct {
	agent        string
	home         string // absolute; existing part resolved
	file         string // configuration file, likewise; may be ""
	rootOK       bool   // allow_root_workspace
	guard        guard.Policy
	narrowing    Restriction // with resolved paths
	tools        toolFilter
	deferred     []string // sorted names and globs of tools clients must search for; not a restriction
	plugins      pluginRules
	limits       CallLimits
	undo         UndoSettings
	execEnv      []string
	isolation    config.Isolation
	network      *NetworkRules // nil for the host's
	ports        []uint16      // network.ports
	secrets      map[string]config.Secret
	origins      map[string]config.Origin // of the agent's settings, for hints
	settingNames *strings.Replacer        // replaces setting names in hints by the agent's
	digest       string
}

// CallLimits limit one call and the agent's use of the host.
type CallLimits struct {
	ExecTimeout time.Duration        // of a command
	CronTimeout time.Duration        // of a scheduled command
	ResultSize  int64                // bytes of a call's result
	Exec        limits.ProcessLimits // of a command
	Run         limits.ProcessLimits // of a program that a person runs
	Share       quota.AgentLimits    // of all calls together
}

// defaultResultSize is more than a model can read, and small enough for many concurrent calls.
const defaultResultSize = 16 << 20

// UndoSettings configure the undo history of the agent, which all its sessions share.
type UndoSettings struct {
	Enabled bool
	MaxSize int64 // bytes
	MaxAge  time.Duration
}

// AgentID returns the id of the agent.
func (p *Policy) AgentID() string { return p.agent }

// HomePath returns the absolute path of the home, where agents can write only to workspaces.
func (p *Policy) HomePath() string { return p.home }

// WorkspacePath returns the absolute, resolved path of the agent's workspace.
func (p *Policy) WorkspacePath() string { return p.guard.Workspace }

// PathSymlinks returns the symlinks in the configured path of the workspace, and in exact patterns of paths to read,
// with their targets.
func (p *Policy) PathSymlinks() map[string]string {
	links := map[string]string{}
	if p.guard.WorkspaceName != "" {
		links = paths.SymlinksInPath(p.guard.WorkspaceName)
	}
	for _, pattern := range p.guard.AllowReadPaths {
		if path, exact := LiteralPathPrefix(pattern); exact && linkTarget(path) != "" {
			maps.Copy(links, paths.SymlinksInPath(path))
		}
	}
	return links
}

// GuardPolicy returns the part of the policy that the guard enforces.
func (p *Policy) GuardPolicy() guard.Policy { return cloneGuardPolicy(p.guard) }

// CallLimits returns the limits of calls.
func (p *Policy) CallLimits() CallLimits { return p.limits }

// UndoSettings returns the limits of the undo history.
func (p *Policy) UndoLimits() UndoSettings { return p.undo }

// CommandEnvNames returns the sorted names of the host's variables that commands get.
func (p *Policy) CommandEnvNames() []string { return slices.Clone(p.execEnv) }

// IsolationOptions returns the isolation settings of the agent's processes.
func (p *Policy) IsolationOptions() config.Isolation {
	i := p.isolation
	i.ExposePaths = slices.Clone(i.ExposePaths)
	return i
}

// Digest returns a stable hex hash of the permissions. It is equal for agents with the same permissions.
func (p *Policy) Digest() string { return p.digest }

func cloneGuardPolicy(g guard.Policy) guard.Policy {
	g.AllowReadPaths = slices.Clone(g.AllowReadPaths)
	g.AllowWritePaths = slices.Clone(g.AllowWritePaths)
	g.Paths = slices.Clone(g.Paths)
	g.Protected = slices.Clone(g.Protected)
	g.Unprotected = slices.Clone(g.Unprotected)
	g.WorkspaceDeny = slices.Clone(g.WorkspaceDeny)
	g.WorkspaceAsk = slices.Clone(g.WorkspaceAsk)
	g.Exec.CustomDeny = slices.Clone(g.Exec.CustomDeny)
	g.Exec.CustomAllow = slices.Clone(g.Exec.CustomAllow)
	g.Exec.Rules = slices.Clone(g.Exec.Rules) // rules are immutable
	return g
}

// encodePluginConfig returns the configuration of a plugin as JSON; nil without one.
func encodePluginConfig(m map[string]any) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	return json.Marshal(m)
}

// WithEffectiveSettingNames returns a decision whose hints name the effective settings for this agent. These are its
// own settings, or those of the environment or command line, instead of the common settings.
func (p *Policy) WithEffectiveSettingNames(d guard.Decision) guard.Decision {
	if p.settingNames != nil {
		d.Hint, d.Setting = p.settingNames.Replace(d.Hint), p.settingNames.Replace(d.Setting)
	}
	return d
}

// newSettingNameReplacer returns a replacer of the names of common settings by those of the effective settings; nil if
// they are equal.
func newSettingNameReplacer(agent *config.AgentConfig) *strings.Replacer {
	settings := agent.Settings()
	// longer names first
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

// setDigest sets the digest, as the last step of creating a policy. The order of lists, and explanations such as
// the agent's id and origins, do not change the digest.
func (p *Policy) setDigest() (*Policy, error) {
	g := cloneGuardPolicy(p.guard)
	for _, l := range []*[]string{&g.AllowReadPaths, &g.AllowWritePaths, &g.Paths, &g.Protected, &g.Unprotected,
		&g.WorkspaceDeny, &g.WorkspaceAsk,
		&g.Exec.CustomDeny, &g.Exec.CustomAllow} {
		*l = sortedUnique(*l)
	}
	rules, err := encodeCommandRules(g.Exec.Rules)
	if err != nil {
		return nil, fmt.Errorf("computing the digest of the policy of agent %q: %w", p.agent, err)
	}
	exposed := slices.Clone(p.isolation.ExposePaths)
	slices.SortFunc(exposed, func(a, b isolation.ExposedPath) int { return strings.Compare(a.Target, b.Target) })
	encoded, err := json.Marshal(struct {
		Version   int
		Home      string
		File      string
		Guard     guard.Policy
		Tools     toolFilter
		Plugins   pluginRules
		Limits    CallLimits
		ExecEnv   []string
		Isolation bool
		Network   bool
		Exposed   []isolation.ExposedPath
		Rules     []string `json:",omitempty"`
		Undo      UndoSettings
		Reached   *NetworkRules            `json:",omitempty"`
		Ports     []uint16                 `json:",omitempty"`
		Secrets   map[string]config.Secret `json:",omitempty"`
		Narrowed  [][]string               `json:",omitempty"`
	}{1, p.home, p.file, g, p.tools, p.plugins, p.limits, p.execEnv, p.isolation.Enabled, p.isolation.Network, exposed,
		rules, p.undo, p.network, p.ports, p.secrets, p.narrowing.Tools})
	if err != nil {
		return nil, fmt.Errorf("computing the digest of the policy of agent %q: %w", p.agent, err)
	}
	p.digest = fmt.Sprintf("%x", sha256.Sum256(encoded))
	return p, nil
}

// encodeCommandRules returns the sorted encodings of operators' command rules, which the guard's JSON omits.
func encodeCommandRules(rules []guard.Rule) ([]string, error) {
	out := make([]string, 0, len(rules))
	for _, rule := range rules {
		rule.Hit, rule.Miss = nil, nil // examples don't affect decisions
		encoded, err := json.Marshal(rule)
		if err != nil {
			return nil, err
		}
		out = append(out, string(encoded))
	}
	return sortedUnique(out), nil
}

// sortedUnique returns a sorted copy of l without duplicates, never nil.
func sortedUnique(l []string) []string {
	out := append([]string{}, l...)
	slices.Sort(out)
	return slices.Compact(out)
}
