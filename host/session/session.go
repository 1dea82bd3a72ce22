package session

import (
	"crypto/rand"
	"fmt"
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

// Origin says on whose behalf a session calls. No origin has a wider policy than another.
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
)

// Session is one path on which an agent uses the host. It may be used concurrently.
type Session struct {
	id      string
	parent  string // the id of the session that has opened it; empty for none
	host    *Host
	preview bool // it decides on calls and makes none
	origin  Origin
	policy  *policy.Policy
	guard   *guard.Guard
	payer   payer
	calls   atomic.Uint64 // those that began

	mu       sync.Mutex
	specs    map[*catalog.Plugin]*supervise.Spec // made at the first call
	networks map[*catalog.Plugin]*network        // those of the specs that have one
}

// Session opens a session for an agent; the empty id means the first one in the configuration.
func (h *Host) Session(agent string, origin Origin) (*Session, error) {
	p, err := h.policyOf(agent, policy.For)
	if err != nil {
		return nil, err
	}
	return h.session(p, origin)
}

// Preview opens a session that decides on calls and makes none. It leaves everything as it is: a workspace that is
// missing is not made.
func (h *Host) Preview(agent string, origin Origin) (*Session, error) {
	p, err := h.policyOf(agent, policy.Preview)
	if err != nil {
		return nil, err
	}
	s, err := h.session(p, origin)
	if err != nil {
		return nil, err
	}
	s.preview = true
	return s, nil
}

func (h *Host) policyOf(agent string, resolve func(*config.Config, string) (*policy.Policy, error)) (*policy.Policy,
	error) {
	ids := h.config.AgentIDs()
	if agent == "" {
		agent = ids[0]
	}
	if !slices.Contains(ids, agent) {
		return nil, fmt.Errorf("there is no agent %q%s; the configuration has %s",
			agent, suggest.DidYouMean(agent, ids), strings.Join(ids, ", "))
	}
	p, err := resolve(h.config, agent)
	if err != nil {
		return nil, &StartError{err}
	}
	return p, nil
}

func (h *Host) session(p *policy.Policy, origin Origin) (*Session, error) {
	s := &Session{
		id:     strings.ToLower(rand.Text()[:12]),
		host:   h,
		origin: origin,
		policy: p,
		payer:  payer{p.Agent(), p.Limits().Share},
		specs:  make(map[*catalog.Plugin]*supervise.Spec),
	}
	g, err := guard.New(s.guardPolicy())
	if err != nil {
		return nil, &StartError{err}
	}
	s.guard = g
	return s, nil
}

// ID returns what tells the session from others in the record.
func (s *Session) ID() string { return s.id }

// Origin returns on whose behalf the session calls.
func (s *Session) Origin() Origin { return s.origin }

// Policy returns what the session's agent may do.
func (s *Session) Policy() *policy.Policy { return s.policy }

// Tool is a tool that a session may call.
type Tool struct {
	Name     string // what to call it: the short name, or the full one where that does not say which tool is meant
	Plugin   string
	Spec     *pluginpb.Spec
	Deferred bool // clients are not listed it until they have searched for it
}

// Tools lists what the session's agent may call, sorted by full name.
func (s *Session) Tools() []Tool {
	c := s.host.plugins()
	var enabled []*catalog.Tool
	short := make(map[string]int)
	for _, t := range c.Tools() {
		if s.allows(c, t) && !s.host.gone.has(t) && s.host.offered(t, s.policy.Agent()) {
			enabled = append(enabled, t)
			if !t.Plugin.Manifest.FullNames {
				short[t.Spec.Name]++
			}
		}
	}
	tools, rules := make([]Tool, 0, len(enabled)), s.policy.Tools()
	for _, t := range enabled {
		name := t.Spec.Name
		if short[name] != 1 || t.Plugin.Manifest.FullNames {
			name = t.FullName()
		}
		tools = append(tools, Tool{Name: name, Plugin: t.Plugin.Manifest.ID, Spec: t.Spec,
			Deferred: rules.Defers(t.Plugin.Manifest.ID, t.Spec.Name)})
	}
	return tools
}

func (s *Session) allows(c *catalog.Catalog, t *catalog.Tool) bool {
	return s.policy.Allows(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets) && c.Off(t, s.policy.Agent()) == nil
}

// find returns the enabled tool that a name means. One that is there but not enabled is returned with the error.
func (s *Session) find(name string) (*catalog.Tool, *Error) {
	c := s.host.plugins()
	var enabled, disabled []*catalog.Tool
	for _, t := range c.Find(name) {
		if !s.host.offered(t, s.policy.Agent()) {
			continue
		}
		if s.allows(c, t) {
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
			Message: fmt.Sprintf("%s is the name of several tools: say %s", name, strings.Join(names, " or "))}
	case len(disabled) > 0:
		t := disabled[0]
		if err := c.LockError(); err != nil {
			return t, &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: "picoclaw.lock"}
		}
		if off := c.Off(t, s.policy.Agent()); off != nil && s.policy.Allows(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets) {
			return t, &Error{Code: pluginpb.CodeAccessDenied, Message: fmt.Sprintf("the operator has switched off %s", off),
				Rule: "plugin disable", Hint: "`picoclaw plugin enable` switches it on again"}
		}
		d := s.policy.DecideTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets)
		return t, &Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	}
	if id, _, full := strings.Cut(name, "."); full {
		if err := pluginProblem(c, id); err != nil {
			return nil, &Error{Code: pluginpb.CodeUnavailable, Message: err.Error()}
		}
	}
	return nil, s.unknown(name)
}

func (s *Session) unknown(name string) *Error {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Name)
	}
	e := &Error{Code: pluginpb.CodeUnknownTool, Message: fmt.Sprintf("there is no tool %q%s", name, suggest.DidYouMean(name,
		names))}
	if len(names) > 0 {
		e.Hint = "the tools of agent " + s.policy.Agent() + ": " + strings.Join(names, ", ")
	}
	if text := problems(s.host.plugins()); text != "" {
		e.Hint += "\n" + text
	}
	return e
}

// Spawn opens a session whose policy is at most this one's.
func (s *Session) Spawn(origin Origin, narrower policy.Child) (*Session, error) {
	p, err := s.policy.Narrow(narrower)
	if err != nil {
		return nil, fmt.Errorf("a session can only be made narrower: %w", err)
	}
	child, err := s.host.session(p, origin)
	if err == nil {
		child.preview, child.parent, child.payer = s.preview, s.id, s.payer
	}
	return child, err
}

// Delegate opens a session of another agent, for work that this one gives to it. Its policy is that agent's own, narrowed
// as this session's is. Its calls are of this one's share of the host, and their record names this session. Whether this
// agent may do so is the caller's to know.
func (s *Session) Delegate(agent string) (*Session, error) {
	p, err := s.host.policyOf(agent, policy.For)
	if err != nil {
		return nil, err
	}
	if p, err = p.NarrowLike(s.policy); err != nil {
		return nil, err
	}
	other, err := s.host.session(p, Subagent)
	if err == nil {
		other.preview, other.parent, other.payer = s.preview, s.id, s.payer
	}
	return other, err
}
