package session

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Origin is the kind of caller that opened a session. No origin has a wider policy than another.
type Origin string

// The origins.
const (
	Main      Origin = "main"
	Subagent  Origin = "subagent"
	Heartbeat Origin = "heartbeat"
	Cron      Origin = "cron"
	Hook      Origin = "hook"
	CLI       Origin = "cli"
	MCP       Origin = "mcp"
	Console   Origin = "console"
	Program   Origin = "run" // a whole program in the sandbox
)

// Session is one agent's connection to the host. It may be used concurrently.
type Session struct {
	id      string
	parent  string // id of the session that opened it; may be empty
	host    *Host
	preview bool // decides on calls without making them
	origin  Origin
	policy  *policy.Policy
	guard   *guard.Guard
	account quotaOwner
	undoOf  string        // directory of another undo store than the agent's; empty for none
	calls   atomic.Uint64 // number of calls begun

	mu       sync.Mutex
	specs    map[*catalog.Plugin]*supervise.InstanceSpec // created at the first call
	networks map[*catalog.Plugin]*sandboxNetwork         // for the specs that have one
}

// OpenSession opens a session for an agent; the empty id means the first agent in the configuration.
func (h *Host) OpenSession(agent string, origin Origin) (*Session, error) {
	p, err := h.resolveAgentPolicy(agent, policy.ResolvePolicy)
	if err != nil {
		return nil, err
	}
	return h.newSession(p, origin)
}

// OpenPreviewSession opens a session that decides on calls without making them. It creates no missing workspace.
func (h *Host) OpenPreviewSession(agent string, origin Origin) (*Session, error) {
	p, err := h.resolveAgentPolicy(agent, policy.PreviewPolicy)
	if err != nil {
		return nil, err
	}
	s, err := h.newSession(p, origin)
	if err != nil {
		return nil, err
	}
	s.preview = true
	return s, nil
}

func (h *Host) resolveAgentPolicy(agent string, resolve func(*config.Config, string) (*policy.Policy, error)) (*policy.Policy,
	error) {
	ids := h.options.Config.AgentIDs()
	agent = cmp.Or(agent, ids[0])
	if !slices.Contains(ids, agent) {
		return nil, fmt.Errorf("there is no agent %q%s; the configuration has %s",
			agent, suggest.DidYouMean(agent, ids), strings.Join(ids, ", "))
	}
	p, err := resolve(h.options.Config, agent)
	if err != nil {
		return nil, &HostStartError{err}
	}
	return p, nil
}

func (h *Host) newSession(p *policy.Policy, origin Origin) (*Session, error) {
	s := &Session{
		id:       strings.ToLower(rand.Text()[:12]),
		host:     h,
		origin:   origin,
		policy:   p,
		account:  quotaOwner{p.AgentID(), p.CallLimits().Share},
		specs:    make(map[*catalog.Plugin]*supervise.InstanceSpec),
		networks: make(map[*catalog.Plugin]*sandboxNetwork),
	}
	g, err := guard.NewGuard(s.guardPolicy())
	if err != nil {
		return nil, &HostStartError{err}
	}
	s.guard = g
	return s, nil
}

// ID returns the session's id in the audit log.
func (s *Session) ID() string { return s.id }

// Policy returns the agent's policy.
func (s *Session) Policy() *policy.Policy { return s.policy }

// Tool is a tool a session may call.
type Tool struct {
	Name     string // short name, or the full one if the short one is ambiguous
	Plugin   string
	Spec     *pluginpb.ToolSpec
	Deferred bool // listed to clients only after a search
}

// Tools returns the tools the agent may call, sorted by full name.
func (s *Session) Tools() []Tool {
	enabled := s.enabledTools((*catalog.Catalog).Tools)
	short := make(map[string]int)
	for _, t := range enabled {
		if !t.Plugin.Manifest.FullNames {
			short[t.Spec.Name]++
		}
	}
	tools := make([]Tool, 0, len(enabled))
	for _, t := range enabled {
		name := t.Spec.Name
		if short[name] != 1 || t.Plugin.Manifest.FullNames {
			name = t.FullName()
		}
		tools = append(tools, Tool{Name: name, Plugin: t.Plugin.Manifest.ID, Spec: t.Spec,
			Deferred: s.policy.IsToolDeferred(t.Plugin.Manifest.ID, t.Spec.Name)})
	}
	return tools
}

// enabledTools returns the entries of a catalog list that are enabled for the agent.
func (s *Session) enabledTools(of func(*catalog.Catalog) []*catalog.Tool) []*catalog.Tool {
	c := s.host.PluginCatalog()
	return slices.DeleteFunc(of(c), func(t *catalog.Tool) bool {
		return !s.isToolEnabled(c, t) || s.host.withdrawn.hasTool(t) || !s.host.isToolOfferedTo(t, s.policy.AgentID())
	})
}

func (s *Session) isToolEnabled(c *catalog.Catalog, t *catalog.Tool) bool {
	return s.decideToolAccess(t).Verdict == guard.Allow && c.FindToolDisableRule(t, s.policy.AgentID()) == nil
}

// decideToolAccess returns the policy's decision on whether the agent may use a tool, resource or prompt.
func (s *Session) decideToolAccess(t *catalog.Tool) guard.Decision {
	if t.Kind != pluginpb.ToolKind {
		return s.policy.DecideResourceOrPrompt(t.Kind, t.Plugin.Manifest.ID, t.Spec.Name)
	}
	return s.policy.DecideTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets)
}

// findTool returns the enabled tool with a name. For a disabled tool, it returns the tool and an error.
func (s *Session) findTool(name string) (*catalog.Tool, *Error) {
	c := s.host.PluginCatalog()
	var enabled, disabled []*catalog.Tool
	for _, t := range c.FindTools(name) {
		if !s.host.isToolOfferedTo(t, s.policy.AgentID()) {
			continue
		}
		if s.isToolEnabled(c, t) {
			enabled = append(enabled, t)
		} else {
			disabled = append(disabled, t)
		}
	}
	switch {
	case len(enabled) == 1:
		return enabled[0], nil
	case len(enabled) > 1:
		var names []string
		for _, t := range enabled {
			names = append(names, t.FullName())
		}
		return nil, &Error{Code: pluginpb.CodeUnknownTool,
			Message: fmt.Sprintf("%s is the name of several tools; use %s", name, strings.Join(names, " or "))}
	case len(disabled) > 0:
		t := disabled[0]
		if err := c.LockFileError(); err != nil {
			return t, &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: "picoclaw.lock"}
		}
		if off := c.FindToolDisableRule(t, s.policy.AgentID()); off != nil && s.decideToolAccess(t).Verdict == guard.Allow {
			return t, &Error{Code: pluginpb.CodeAccessDenied, Message: fmt.Sprintf("the operator has switched off %s", off),
				Rule: "plugin disable", Hint: "`picoclaw plugin enable` switches it on again"}
		}
		d := s.decideToolAccess(t)
		return t, &Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	}
	if id, _, full := strings.Cut(name, "."); full {
		if err := pluginLoadError(c, id); err != nil {
			return nil, &Error{Code: pluginpb.CodeUnavailable, Message: err.Error()}
		}
	}
	return nil, s.unknownToolError(name)
}

func (s *Session) unknownToolError(name string) *Error {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Name)
	}
	e := &Error{Code: pluginpb.CodeUnknownTool, Message: fmt.Sprintf("there is no tool %q%s", name, suggest.DidYouMean(name,
		names))}
	if len(names) > 0 {
		e.Hint = "the tools of agent " + s.policy.AgentID() + ": " + strings.Join(names, ", ")
	}
	if text := pluginProblemsText(s.host.PluginCatalog()); text != "" {
		e.Hint += "\n" + text
	}
	return e
}

// SpawnSession opens a child session with the restrictions of this session and the additional ones.
func (s *Session) SpawnSession(origin Origin, narrower policy.Restriction) (*Session, error) {
	p, err := s.policy.NarrowPolicy(narrower)
	if err != nil {
		return nil, fmt.Errorf("a session can only be narrowed: %w", err)
	}
	child, err := s.host.newSession(p, origin)
	if err == nil {
		child.preview, child.parent, child.account = s.preview, s.id, s.account
	}
	return child, err
}

// RestoreSession is like SpawnSession with the restriction of an earlier session. It returns an error if a directory
// leads elsewhere now.
func (s *Session) RestoreSession(origin Origin, earlier policy.Restriction) (*Session, error) {
	child, err := s.SpawnSession(origin, earlier)
	if err == nil && !reflect.DeepEqual(child.policy.Restriction(), earlier) {
		return nil, fmt.Errorf("directory %s leads elsewhere than before", strings.Join(append([]string{earlier.Workspace}, earlier.Paths...), ", "))
	}
	return child, err
}

// DelegateSession opens a session of another agent for work that this session delegates. It has the other agent's
// policy with this session's restrictions, and uses this session's quota. Audit entries name this session as parent.
// The caller checks whether the agents may delegate.
func (s *Session) DelegateSession(agent string) (*Session, error) {
	p, err := s.host.resolveAgentPolicy(agent, policy.ResolvePolicy)
	if err != nil {
		return nil, err
	}
	if p, err = p.WithRestrictionsOf(s.policy); err != nil {
		return nil, err
	}
	other, err := s.host.newSession(p, Subagent)
	if err == nil {
		other.preview, other.parent, other.account = s.preview, s.id, s.account
	}
	return other, err
}
