package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
)

// Network says which hosts are reached by name.
type Network struct {
	egress.Rules

	From []string // programs whose hosts are allowed besides, by their names
}

// Network returns which hosts the agent's processes reach; nil for the host's network as it is, as far as they are
// granted it.
func (p *Policy) Network() *Network { return p.network.clone() }

// PluginNetwork returns which of these a plugin reaches; nil for all.
func (p *Policy) PluginNetwork(id string) *Network { return p.plugins.Known[id].Network.clone() }

// Secrets returns the secrets there are.
func (p *Policy) Secrets() map[string]config.Secret { return maps.Clone(p.secrets) }

func (n *Network) clone() *Network {
	if n == nil {
		return nil
	}
	return &Network{
		Rules: egress.Rules{
			Allow: slices.Clone(n.Allow), Deny: slices.Clone(n.Deny), Ask: slices.Clone(n.Ask),
			Methods: maps.Clone(n.Methods), Hosts: maps.Clone(n.Hosts),
		},
		From: slices.Clone(n.From),
	}
}

// networkFrom takes a network from the configuration, and checks what is said of it. under is the name of the section.
func networkFrom(n *config.Network, under string) (*Network, error) {
	if n == nil {
		return nil, nil
	}
	out := &Network{
		Rules: egress.Rules{Allow: n.Allow, Deny: n.Deny, Ask: n.Ask, Methods: n.Methods, Hosts: n.Hosts},
		From:  n.From,
	}
	if _, err := egress.Compile(out.Rules); err != nil {
		return nil, fmt.Errorf("%s%w", under, err)
	}
	return out, nil
}
