package session

import (
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PluginStatus describes a plugin for one agent: whether the agent may use it, the plugin's grants and its tools.
type PluginStatus struct {
	Plugin  string
	Version string
	Kind    catalog.PluginKind
	Enabled bool
	// Grants are the grants in effect: requested, granted at install, and allowed by the agent's policy.
	Grants pluginpb.Grant
	Tools  []ToolStatus
}

// ToolStatus says whether an agent may call a tool, and which rule disables it.
type ToolStatus struct {
	Name    string
	Enabled bool
	Rule    string // the rule that disables it
	Reason  string
}

// PluginStatuses returns the status of every plugin for the session's agent.
func (s *Session) PluginStatuses() []PluginStatus {
	c := s.host.PluginCatalog()
	var all []PluginStatus
	for _, p := range c.Plugins() {
		given := s.pluginPolicy(p)
		h := PluginStatus{
			Plugin: p.Manifest.ID, Version: p.Manifest.Version, Kind: p.Kind, Enabled: given.Enabled,
			Grants: given.Grants.Intersect(p.Manifest.Grants),
		}
		for _, t := range p.Tools {
			held := ToolStatus{Name: t.Spec.Name, Enabled: s.isToolEnabled(c, t)}
			if !held.Enabled {
				held.Rule, held.Reason = s.toolDisabledReason(c, t)
			}
			h.Tools = append(h.Tools, held)
		}
		all = append(all, h)
	}
	return all
}

// toolDisabledReason returns the rule that disables a tool for the agent, and the reason as a sentence.
func (s *Session) toolDisabledReason(c *catalog.Catalog, t *catalog.Tool) (rule, reason string) {
	d := s.policy.DecideTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets)
	if s.policy.AllowsTool(t.Plugin.Manifest.ID, t.Spec.Name, t.Spec.Sets) {
		if off := c.DisabledBy(t, s.policy.AgentID()); off != nil {
			return "plugin disable", "the operator has switched off " + off.String()
		}
	}
	return d.Rule, d.Reason
}
