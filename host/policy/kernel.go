package policy

import (
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// KernelPaths is what the kernel's wall opens. All paths are absolute and clean; each is opened with everything
// below it, and need not exist.
type KernelPaths struct {
	// ReadWrite and ReadOnly are sorted. Where a path of one list lies below a path of the other, the deeper one holds.
	// What lies in the instance root is named by itself also where a wider path is open.
	ReadWrite []string
	ReadOnly  []string

	// Hidden are sorted paths that must not be seen although they lie below an open one: the instance root and the
	// configuration, where a whitelist's literal prefix reaches further than the whitelist. A deeper open path, such
	// as a workspace in the instance root, is seen still.
	Hidden []string

	// Open are the whitelist's patterns without a literal prefix, for which the whole file system is opened.
	Open []string
}

// KernelPaths returns what the kernel's wall opens so that all that the guard allows can be done.
func (p *Policy) KernelPaths() KernelPaths { return p.kernelPaths(false) }

// SandboxPaths returns what of that a sandbox shows which has a /tmp of its own, as every one has that starts programs.
// The prefix of a whitelist does not open the machine's /tmp there, but what is named below it is seen.
func (p *Policy) SandboxPaths() KernelPaths { return p.kernelPaths(true) }

func (p *Policy) kernelPaths(ownTmp bool) KernelPaths {
	g := p.guard
	var k KernelPaths
	switch {
	case !g.Restrict:
		k.ReadWrite = []string{"/", g.Workspace}
	default:
		k.ReadWrite = append([]string{g.Workspace}, k.prefixes(g.AllowWritePaths)...)
		k.ReadOnly = k.prefixes(g.AllowReadPaths)
		if g.AllowReadOutside {
			k.ReadOnly = []string{"/"}
		}
	}
	own := append(p.instancePaths(), "/run")
	k.ReadWrite, k.ReadOnly = intersect(k.ReadWrite, g.Paths), intersect(k.ReadOnly, g.Paths)
	if ownTmp {
		own = append(own, "/tmp")
		opened := func(path string) bool { return path == "/tmp" && path != g.Workspace }
		k.ReadWrite, k.ReadOnly = slices.DeleteFunc(k.ReadWrite, opened), slices.DeleteFunc(k.ReadOnly, opened)
	}
	k.ReadWrite, k.ReadOnly = outermost(k.ReadWrite, own), outermost(k.ReadOnly, own)
	k.ReadOnly = slices.DeleteFunc(k.ReadOnly, func(path string) bool { return covered(path, k.ReadWrite, own) })
	k.Open = sorted(k.Open)
	k.protect(p)
	return k
}

// instancePaths are the paths that bind the agents: the instance root and the configuration file.
func (p *Policy) instancePaths() []string {
	if p.file == "" || paths.Within(p.home, p.file) {
		return []string{p.home}
	}
	return []string{p.home, p.file}
}

// prefixes returns the literal prefixes of the patterns, and notes those that have none.
func (k *KernelPaths) prefixes(patterns []string) []string {
	var out []string
	for _, pattern := range patterns {
		path, _ := LiteralPrefix(pattern)
		if path == "/" {
			k.Open = append(k.Open, pattern)
		}
		out = append(out, path)
	}
	return out
}

// protect closes the instance root and the configuration file again where a restricted agent's whitelist opens them.
// What such an agent may read anywhere, it may read there too; it never writes there.
func (k *KernelPaths) protect(p *Policy) {
	if !p.guard.Restrict || p.guard.Workspace == "/" {
		return
	}
	for _, path := range p.instancePaths() {
		switch {
		case p.guard.AllowReadOutside && paths.WithinAny(k.ReadWrite, path):
			k.ReadOnly = sorted(append(k.ReadOnly, path))
		case !p.guard.AllowReadOutside && (paths.WithinAny(k.ReadWrite, path) || paths.WithinAny(k.ReadOnly, path)):
			k.Hidden = sorted(append(k.Hidden, path))
		}
	}
}

// Limit returns what is left of k for a plugin with the given access.
func (k KernelPaths) Limit(access string) KernelPaths {
	switch access {
	case pluginpb.ReadWriteWorkspace:
		return k
	case pluginpb.ReadOnlyWorkspace:
		k.ReadOnly = sorted(slices.Concat(k.ReadOnly, k.ReadWrite))
		k.ReadWrite = nil
		return k
	default:
		return KernelPaths{}
	}
}

// outermost sorts all paths and leaves out those that another one covers.
func outermost(all, boundaries []string) []string {
	var out []string
	for _, path := range sorted(all) {
		if !covered(path, out, boundaries) {
			out = append(out, path)
		}
	}
	return out
}

// covered reports whether path lies below one of dirs with no boundary in between. What is inside the instance root, or
// in a directory of which the sandbox has its own, is seen only where it is named, so these are boundaries.
func covered(path string, dirs, boundaries []string) bool {
	return slices.ContainsFunc(dirs, func(above string) bool {
		return paths.Within(above, path) && !slices.ContainsFunc(boundaries, func(boundary string) bool {
			return paths.Within(boundary, path) && paths.Within(above, boundary) && boundary != above
		})
	})
}

// intersect returns what lies both below one of dirs and below one of limits; no limits limit nothing.
func intersect(dirs, limits []string) []string {
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
