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
	slices.SortFunc(exposed, compareByTarget)
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
		Secrets   map[string]config.Secret `json:",omitempty"`
	}{1, p.home, p.file, g, p.tools, p.plugins, p.limits, p.execEnv, p.isolation.Enabled, p.isolation.Network, exposed,
		rules, p.undo, p.network, p.secrets})
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
