package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/policy"
)

// ModelInstructions returns the instructions for a model: its workspace, its limits, and advice for refusals. They are
// short because every conversation contains them.
func ModelInstructions(p *policy.Policy) string {
	g := p.GuardPolicy()
	var b strings.Builder
	fmt.Fprintf(&b, "You work in %s; relative paths start there.", g.Workspace)
	if len(g.Paths) > 0 {
		fmt.Fprintf(&b, " Only these directories are open, and everything below them: %s.", strings.Join(g.Paths, ", "))
	}
	if g.Restrict {
		b.WriteString(describeOutsideAccess(g.AllowReadOutside, g.AllowReadPaths, g.AllowWritePaths))
	}
	b.WriteString(describeLimits(p))
	b.WriteString(" A refusal names its rule and the setting that lifts it, which only the operator can change:" +
		" do not work around it; reach the goal in another way, or say what you need.")
	return b.String()
}

// describeOutsideAccess returns a sentence about the access of a restricted agent outside its workspace.
func describeOutsideAccess(readAll bool, read, write []string) string {
	var open []string
	switch {
	case readAll:
		open = append(open, "everything may be read")
	case len(read) > 0:
		open = append(open, "paths matching "+strings.Join(read, " or ")+" may be read")
	}
	if len(write) > 0 {
		open = append(open, "paths matching "+strings.Join(write, " or ")+" may be written")
	}
	if len(open) == 0 {
		return " Paths outside it are refused."
	}
	return " Outside it " + strings.Join(open, ", and ") + "; other paths are refused."
}

// describeLimits returns sentences about the agent's limits and network access.
func describeLimits(p *policy.Policy) string {
	var b strings.Builder
	l := p.CallLimits()
	if l.ExecTimeout > 0 {
		fmt.Fprintf(&b, " A command may run for %s, a longer one in the background.", l.ExecTimeout)
	}
	if l.ResultSize > 0 {
		fmt.Fprintf(&b, " A result has at most %s: read large files in parts.", formatSize(l.ResultSize))
	}
	if most := p.GuardPolicy().MaxFileSize; most > 0 {
		fmt.Fprintf(&b, " A file that you read or write has at most %s.", formatSize(most))
	}
	if in := p.IsolationOptions(); in.Enabled && !in.Network {
		b.WriteString(" There is no network.")
	} else if n := p.NetworkRules(); n != nil {
		b.WriteString(" The network is " + describeNetwork(n) + ".")
	}
	return b.String()
}

// describeNetwork lists the reachable hosts, up to a maximum.
func describeNetwork(n *policy.NetworkRules) string {
	const most = 20
	hosts := slices.Concat(n.Allow, n.Ask)
	for _, program := range n.From {
		hosts = append(hosts, "the hosts that "+program+" is configured for")
	}
	if len(hosts) > most {
		hosts = append(hosts[:most], "more")
	}
	if len(hosts) == 0 {
		return "reached by nothing"
	}
	return "open to " + strings.Join(hosts, ", ") + "; commands are told which other hosts were refused"
}

func formatSize(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
