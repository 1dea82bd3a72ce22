package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// KernelLayerPaths are the absolute paths that the kernel layer opens with everything below them. They need not exist.
type KernelLayerPaths struct {
	// ReadWrite and ReadOnly are sorted; the deepest path decides. Open paths inside the home are listed even below a
	// wider open path.
	ReadWrite []string
	ReadOnly  []string

	// Hidden are sorted paths to hide although they are below an open one: the home and the configuration, if a
	// whitelist's literal prefix includes them. Deeper open paths, such as a workspace in the home, stay visible.
	Hidden []string

	// Unanchored are whitelist patterns without a literal prefix, which open the whole file system.
	Unanchored []string
}

// KernelLayerPaths returns the paths that the kernel layer must open for all accesses that the guard allows.
func (p *Policy) KernelPaths() KernelLayerPaths { return p.computeKernelPaths(false) }

// SandboxKernelPaths returns the KernelLayerPaths for a sandbox with a private /tmp, which every plugin with the exec grant
// has. A whitelist's prefix does not open the host's /tmp there. Paths listed below /tmp are visible.
func (p *Policy) SandboxKernelPaths() KernelLayerPaths { return p.computeKernelPaths(true) }

func (p *Policy) computeKernelPaths(ownTmp bool) KernelLayerPaths {
	g := p.guard
	var k KernelLayerPaths
	switch {
	case !g.Restrict:
		k.ReadWrite = []string{"/", g.Workspace}
	default:
		k.ReadWrite = append([]string{g.Workspace}, k.collectLiteralPrefixes(g.AllowWritePaths)...)
		k.ReadOnly = k.collectLiteralPrefixes(g.AllowReadPaths)
		if g.AllowReadOutside {
			k.ReadOnly = []string{"/"}
		}
	}
	own := append(p.agentControlPaths(), "/run")
	k.ReadWrite, k.ReadOnly = intersectDirs(k.ReadWrite, g.Paths), intersectDirs(k.ReadOnly, g.Paths)
	if ownTmp {
		own = append(own, "/tmp")
		opened := func(path string) bool { return path == "/tmp" && path != g.Workspace }
		k.ReadWrite, k.ReadOnly = slices.DeleteFunc(k.ReadWrite, opened), slices.DeleteFunc(k.ReadOnly, opened)
	}
	k.ReadWrite, k.ReadOnly = outermostPaths(k.ReadWrite, own), outermostPaths(k.ReadOnly, own)
	k.ReadOnly = slices.DeleteFunc(k.ReadOnly, func(path string) bool { return isPathCovered(path, k.ReadWrite, own) })
	k.Unanchored = sortedUnique(k.Unanchored)
	k.hideControlPaths(p)
	return k
}

// agentControlPaths returns the paths with settings that restrict agents: the home and the configuration file.
func (p *Policy) agentControlPaths() []string {
	if p.file == "" || paths.Within(p.home, p.file) {
		return []string{p.home}
	}
	return []string{p.home, p.file}
}

// collectLiteralPrefixes returns the literal path prefixes of patterns. It records patterns without a prefix as unanchored.
func (k *KernelLayerPaths) collectLiteralPrefixes(patterns []string) []string {
	var out []string
	for _, pattern := range patterns {
		path, _ := LiteralPathPrefix(pattern)
		if path == "/" {
			k.Unanchored = append(k.Unanchored, pattern)
		}
		out = append(out, path)
	}
	return out
}

// hideControlPaths hides the home and the configuration file if a restricted agent's whitelist opens them. An agent
// that may read everywhere can read them, but never write.
func (k *KernelLayerPaths) hideControlPaths(p *Policy) {
	if !p.guard.Restrict || p.guard.Workspace == "/" {
		return
	}
	for _, path := range p.agentControlPaths() {
		switch {
		case p.guard.AllowReadOutside && paths.WithinAny(k.ReadWrite, path):
			k.ReadOnly = sortedUnique(append(k.ReadOnly, path))
		case !p.guard.AllowReadOutside && (paths.WithinAny(k.ReadWrite, path) || paths.WithinAny(k.ReadOnly, path)):
			k.Hidden = sortedUnique(append(k.Hidden, path))
		}
	}
}

// LimitWorkspaceAccess returns the paths for a plugin with this access to the workspace: none, ro or rw.
func (k KernelLayerPaths) LimitWorkspaceAccess(access string) KernelLayerPaths {
	switch access {
	case pluginpb.ReadWriteWorkspace:
		return k
	case pluginpb.ReadOnlyWorkspace:
		k.ReadOnly = sortedUnique(slices.Concat(k.ReadOnly, k.ReadWrite))
		k.ReadWrite = nil
		return k
	default:
		return KernelLayerPaths{}
	}
}

// outermostPaths returns the sorted paths, without paths below another of them.
func outermostPaths(all, boundaries []string) []string {
	var out []string
	for _, path := range sortedUnique(all) {
		if !isPathCovered(path, out, boundaries) {
			out = append(out, path)
		}
	}
	return out
}

// isPathCovered reports whether a path is below one of dirs without a boundary between them. Boundaries are the home
// and the private directories of the sandbox: in them, only listed paths are visible.
func isPathCovered(path string, dirs, boundaries []string) bool {
	return slices.ContainsFunc(dirs, func(above string) bool {
		return paths.Within(above, path) && !slices.ContainsFunc(boundaries, func(boundary string) bool {
			return paths.Within(boundary, path) && paths.Within(above, boundary) && boundary != above
		})
	})
}

// intersectDirs returns the directories that are in both dirs and limits. Without limits it returns dirs.
func intersectDirs(dirs, limits []string) []string {
	if len(limits) == 0 {
		return dirs
	}
	var out []string
	for _, path := range dirs {
		for _, limit := range limits {
			switch {
			case paths.Within(limit, path):
				out = append(out, path)
			case paths.Within(path, limit):
				out = append(out, limit)
			}
		}
	}
	return out
}

// NetworkRules are the hosts that processes may reach.
type NetworkRules struct {
	egress.PolicyRules

	From []string // programs whose configured hosts are allowed too

	Project *NetworkRules `json:",omitempty"` // must allow a host too; its nil Allow allows all. nil for none
}

// NetworkRules returns the hosts that the agent's processes may reach; nil for the host's unrestricted network.
func (p *Policy) NetworkRules() *NetworkRules { return p.network.cloneRules() }

// PublishedPorts returns the ports at which this machine reaches servers of the agent's commands.
func (p *Policy) PublishedPorts() []uint16 { return slices.Clone(p.ports) }

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
			Requests: maps.Clone(n.Requests), Methods: maps.Clone(n.Methods), Hosts: maps.Clone(n.Hosts),
		},
		From: slices.Clone(n.From), Project: n.Project.cloneRules(),
	}
}

// parseNetworkRules checks network settings and converts them; nil if they limit no hosts. under is the name of their
// section.
func parseNetworkRules(n *config.Network, under string) (*NetworkRules, error) {
	if n == nil || len(n.Ports) > 0 && reflect.DeepEqual(*n, config.Network{Ports: n.Ports}) {
		return nil, nil
	}
	out := &NetworkRules{
		PolicyRules: egress.PolicyRules{Allow: n.Allow, Deny: n.Deny, Ask: n.Ask, Requests: n.Requests, Methods: n.Methods, Hosts: n.Hosts},
		From:        n.From,
	}
	if _, err := egress.CompilePolicy(out.PolicyRules); err != nil {
		return nil, fmt.Errorf("%s%w", under, err)
	}
	return out, nil
}
