package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
)

// NetworkRules are the hosts that processes may reach.
type NetworkRules struct {
	egress.PolicyRules

	From []string // programs whose configured hosts are allowed too
}

// NetworkRules returns the hosts that the agent's processes may reach; nil for the host's unrestricted network.
func (p *Policy) NetworkRules() *NetworkRules { return p.network.cloneRules() }

// PluginNetworkRules returns the hosts to which a plugin is limited among the agent's hosts; nil for all.
func (p *Policy) PluginNetworkRules(id string) *NetworkRules {
	return p.plugins.Known[id].Network.cloneRules()
}

// Secrets returns the configured secrets by name.
func (p *Policy) Secrets() map[string]config.Secret { return maps.Clone(p.secrets) }

func (n *NetworkRules) cloneRules() *NetworkRules {
	if n == nil {
		return nil
	}
	return &NetworkRules{
		PolicyRules: egress.PolicyRules{
			Allow: slices.Clone(n.Allow), Deny: slices.Clone(n.Deny), Ask: slices.Clone(n.Ask),
			Methods: maps.Clone(n.Methods), Hosts: maps.Clone(n.Hosts),
		},
		From: slices.Clone(n.From),
	}
}

// parseNetworkRules checks network settings and converts them. under is the name of their section.
func parseNetworkRules(n *config.Network, under string) (*NetworkRules, error) {
	if n == nil {
		return nil, nil
	}
	out := &NetworkRules{
		PolicyRules: egress.PolicyRules{Allow: n.Allow, Deny: n.Deny, Ask: n.Ask, Methods: n.Methods, Hosts: n.Hosts},
		From:        n.From,
	}
	if _, err := egress.CompilePolicy(out.PolicyRules); err != nil {
		return nil, fmt.Errorf("%s%w", under, err)
	}
	return out, nil
}
