package session

import (
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Holding is a plugin as one agent has it.
type Holding struct {
	Plugin  string
	Version string
	Kind    catalog.Kind
	Enabled bool
	// Grants is what it has in effect: what it asks for, was given, and the agent's policy allows.
	Grants pluginpb.Grant
	Tools  []HeldTool
}

// HeldTool is a tool as one agent has it.
type HeldTool struct {
	Name    string
	Enabled bool
	Rule    string // what disables it
	Reason  string
}

// Holdings says of every plugin what the session's agent has of it.
func (s *Session) Holdings() []Holding {
	c := s.host.plugins()
	var all []Holding
	for _, p := range c.Plugins() {
		given := s.given(p)
		h := Holding{
			Plugin: p.Manifest.ID, Version: p.Manifest.Version, Kind: p.Kind, Enabled: given.Enabled,
			Grants: given.Grants.Intersect(p.Manifest.Grants),
		}
		for _, t := range p.Tools {
			held := HeldTool{Name: t.Spec.Name, Enabled: s.allows(c, t)}
			if !held.Enabled {
				held.Rule, held.Reason = s.disabledBy(c, t)
			}
			h.Tools = append(h.Tools, held)
		}
		all = append(all, h)
	}
	return all
}

// disabledBy says what disables a tool, in one word and in a sentence.
func (s *Session) disabledBy(c *catalog.Catalog, t *catalog.Tool) (rule, reason string) {
	d := s.policy.DecideTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets)
	if s.policy.Allows(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets) {
		if off := c.Off(t, s.policy.Agent()); off != nil {
			return "plugin disable", "the operator has switched off " + off.String()
		}
	}
	return d.Rule, d.Reason
}
