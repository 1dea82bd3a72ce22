package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// secretUse is the list of secrets that a program may use, and of the hosts that it may reach.
type secretUse struct {
	key            string // of the list of secrets
	secrets, hosts []string
}

// listSecretUses returns the secrets and hosts of all agents, plugins, MCP servers, models and hooks.
func listSecretUses(cfg *config.Config) (all []secretUse) {
	settings := cfg.Settings()
	for _, id := range cfg.AgentIDs() {
		if agent, err := cfg.ResolveAgent(id); err == nil {
			settings = append(settings, agent.Settings()...)
		}
	}
	for _, s := range settings {
		switch texts, ok := s.Value.([]string); {
		case !ok:
		case strings.HasSuffix(s.Key, "network.allow"), strings.HasSuffix(s.Key, "network.ask"):
			all = append(all, secretUse{hosts: texts})
		case strings.HasSuffix(s.Key, ".grants.secrets"):
			all = append(all, secretUse{key: s.Key, secrets: texts})
		}
	}
	for _, m := range cfg.Models() {
		all = append(all, secretUse{hosts: m.Hosts})
	}
	for id, s := range cfg.MCPServers() {
		all = append(all, secretUse{"tools.mcp.servers." + id + ".secrets", s.Secrets, s.Network})
	}
	var hooks struct {
		Processes map[string]struct{ Secrets, Hosts []string }
	}
	_ = json.Unmarshal(cfg.Hooks(), &hooks) // findHookFaults reports the error
	for id, h := range hooks.Processes {
		all = append(all, secretUse{"hooks.processes." + id + ".secrets", h.Secrets, h.Hosts})
	}
	return all
}

// findSecretProblems warns about granted secrets that are not configured, and about hosts of secrets that no program
// may reach.
func findSecretProblems(cfg *config.Config) []configFault {
	var odd []configFault
	var reached []string
	names := slices.Sorted(maps.Keys(cfg.Secrets()))
	for _, use := range listSecretUses(cfg) {
		reached = append(reached, use.hosts...)
		for _, name := range use.secrets {
			if name == pluginpb.AnySecret || slices.Contains(names, name) {
				continue
			}
			odd = append(odd, newConfigFault(&config.Error{Origin: findOrigin(cfg.Settings(), use.key), Key: use.key,
				Problem: fmt.Sprintf("no secret %q is configured", name),
				Cure:    "configure its source in secrets." + name + suggest.DidYouMean(name, names)}))
		}
	}
	slices.SortStableFunc(odd, func(a, b configFault) int { return strings.Compare(a.Key, b.Key) })
	rules, err := egress.CompilePolicy(egress.PolicyRules{Allow: reached})
	if err != nil {
		return odd // a fault of its own
	}
	for _, name := range names {
		for _, host := range cfg.Secrets()[name].Hosts {
			if !strings.ContainsAny(host, "*:/") && rules.Decide(host, 443).Verdict != egress.Allow {
				odd = append(odd, newConfigFault(&config.Error{Key: "secrets." + name + ".hosts",
					Problem: fmt.Sprintf("nothing may reach %s, so the secret has no use there", host),
					Cure:    "add the host to network.allow"}))
			}
		}
	}
	return odd
}
