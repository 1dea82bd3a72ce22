package main

import (
	"fmt"
	"slices"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/nearest"
)

// auditNames are the agents and tools that a log has calls of, so that a name that nobody has is not taken for one that
// did nothing.
type auditNames struct{ agents, tools []string }

func (n *auditNames) see(r audit.Record) {
	if !slices.Contains(n.agents, r.Agent) {
		n.agents = append(n.agents, r.Agent)
	}
	if !slices.Contains(n.tools, r.Tool) {
		n.tools = append(n.tools, r.Tool)
	}
}

// complain says on standard error when a filter names what is neither in the log nor in the configuration.
func (n *auditNames) complain(a *app, cfg *config.Config, filter audit.Filter) {
	if agents := append(cfg.AgentIDs(), n.agents...); filter.Agent != "" && !slices.Contains(agents, filter.Agent) {
		fmt.Fprintf(a.stderr, "picoclaw: no agent %q is configured, and no call of one is in the log%s\n", filter.Agent,
			nearest.Suggest(filter.Agent, agents))
	}
	if filter.Tool == "" || slices.ContainsFunc(n.tools, toolFilter(filter.Tool)) {
		return
	}
	h, err := session.Open(session.Options{Config: cfg})
	if err != nil {
		return // what is installed can't be told
	}
	defer a.close(h)
	tools := n.tools
	for _, t := range h.Installed() {
		tools = append(tools, t.Spec.Name, t.Name)
	}
	if !slices.ContainsFunc(tools, toolFilter(filter.Tool)) {
		fmt.Fprintf(a.stderr, "picoclaw: no tool %q is installed, and no call of one is in the log%s\n", filter.Tool,
			nearest.Suggest(filter.Tool, tools))
	}
}

// toolFilter reports whether a name is one that a filter chooses.
func toolFilter(pattern string) func(name string) bool {
	return func(name string) bool { return audit.Filter{Tool: pattern}.Matches(audit.Record{Tool: name}) }
}
