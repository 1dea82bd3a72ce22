package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// seal computes the digest. It is the last step of making a policy.
//
// The lists are sorted first, as the order of rules that are all alike doesn't matter, and what only explains a
// policy (the agent's id, the origins) is left out.
func (p *Policy) seal() (*Policy, error) {
	g := cloneGuard(p.guard)
	for _, l := range []*[]string{&g.AllowReadPaths, &g.AllowWritePaths, &g.Paths, &g.Protected, &g.Unprotected,
		&g.WorkspaceDeny, &g.WorkspaceAsk,
		&g.Exec.CustomDeny, &g.Exec.CustomAllow} {
		*l = sorted(*l)
	}
	rules, err := encodeRules(g.Exec.Rules)
	if err != nil {
		return nil, fmt.Errorf("computing the digest of the policy of agent %q: %w", p.agent, err)
	}
	exposed := slices.Clone(p.isolation.ExposePaths)
	slices.SortFunc(exposed, compareExposed)
	encoded, err := json.Marshal(struct {
		Version   int
		Home      string
		File      string
		Guard     guard.Policy
		Tools     toolFilter
		Plugins   pluginRules
		Limits    Limits
		ExecEnv   []string
		Isolation bool
		Network   bool
		Exposed   []isolation.ExposePath
		Rules     []string `json:",omitempty"`
		Undo      Undo
		Reached   *Network                 `json:",omitempty"`
		Secrets   map[string]config.Secret `json:",omitempty"`
	}{1, p.home, p.file, g, p.tools, p.plugins, p.limits, p.execEnv, p.isolation.Enabled, p.isolation.Network, exposed,
		rules, p.undo, p.network, p.secrets})
	if err != nil {
		return nil, fmt.Errorf("computing the digest of the policy of agent %q: %w", p.agent, err)
	}
	p.digest = fmt.Sprintf("%x", sha256.Sum256(encoded))
	return p, nil
}

// encodeRules returns the sorted texts of operators' rules, which the guard's policy in JSON leaves out.
func encodeRules(rules []guard.Rule) ([]string, error) {
	out := make([]string, 0, len(rules))
	for _, rule := range rules {
		rule.Hit, rule.Miss = nil, nil // examples decide nothing
		encoded, err := json.Marshal(rule)
		if err != nil {
			return nil, err
		}
		out = append(out, string(encoded))
	}
	return sorted(out), nil
}

// sorted returns a sorted copy of l without repetitions, never nil.
func sorted(l []string) []string {
	out := append([]string{}, l...)
	slices.Sort(out)
	return slices.Compact(out)
}
