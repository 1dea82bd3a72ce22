package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

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
func elsewhereOf(agent *config.Agent) *strings.Replacer {
	settings := agent.Settings()
	// a name before those that it goes on from
	slices.SortFunc(settings, func(a, b config.Setting) int { return cmp.Compare(len(b.Common), len(a.Common)) })
	var pairs []string
	for _, s := range settings {
		switch {
		case s.Common == "":
		case s.Own:
			pairs = append(pairs, s.Common, s.Key+" of the agent "+agent.ID+" ("+s.Origin.String()+")")
		case s.Origin.Source == config.Variable || s.Origin.Source == config.Flag:
			pairs = append(pairs, s.Common, s.Common+" ("+s.Origin.String()+")")
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}
