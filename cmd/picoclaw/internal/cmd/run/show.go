package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/session"
)

// printPlan prints what the program could see, reach and change, without running it.
func (o *Options) printPlan(s *session.Session, p *run.RunPlan) error {
	say := func(title, format string, args ...any) {
		fmt.Fprintf(o.Out, "%-9s %s\n", title, fmt.Sprintf(format, args...))
	}
	policy := s.Policy()
	if p.Missing != nil {
		say("program", "%s, which is not installed", o.program[0])
	} else {
		say("program", "%s", p.Program)
	}
	if len(p.Args) > 0 {
		say("arguments", "%s", strings.Join(p.Args, " "))
	}
	say("agent", "%s", policy.AgentID())
	say("changes", "%s, but for protected files (docs/protected.md)", policy.WorkspacePath())
	if p.SharedGit != nil {
		say("", "%s, but for other work trees' files; undo does not cover it", p.SharedGit.Dir)
	}
	say("home", "%s, separate for this project", p.Home)
	say("reads", "the system's programs")
	for _, path := range p.ReadOnly {
		say("", "%s", path)
	}
	switch own := policy.NetworkRules(); {
	case !policy.IsolationOptions().Network:
		say("network", "none (isolation.network)")
	case own != nil && len(own.Allow)+len(own.From) > 0:
		say("network", "what network.allow and network.from name, and")
	default:
		say("network", "these hosts alone")
	}
	if policy.IsolationOptions().Network {
		for _, host := range p.Preset.Hosts {
			say("", "%s (%s)", host.Name, host.Purpose)
		}
		for _, host := range o.hosts {
			say("", "%s (--allow)", host)
		}
	}
	for _, secret := range p.Secrets {
		say("key", "%s as a placeholder; picoclaw inserts the key for %s", secret.Name, strings.Join(secret.Hosts, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Preset.Env)) {
		say("sets", "%s=%s", name, p.Preset.Env[name])
	}
	if p.Preset.Sandbox != "" {
		say("note", "%s", p.Preset.Sandbox)
	}
	if policy.UndoLimits().Enabled {
		say("undo", "picoclaw undo restores changed files")
	} else {
		say("undo", "off (tools.undo.enabled)")
	}
	return nil
}
