package isolation

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// mountKind is the kind of a mount, as bubblewrap's flags name it.
type mountKind string

const (
	bindRO    mountKind = "ro-bind"
	bindRW    mountKind = "bind"
	bindData  mountKind = "ro-bind-data" // a file with given content
	copied    mountKind = "file"         // a file with the content that the source has now
	tmpfs     mountKind = "tmpfs"
	procfs    mountKind = "proc"
	devfs     mountKind = "dev"
	symlink   mountKind = "symlink"
	remountRO mountKind = "remount-ro" // the mount that stands there, from now on
)

// plannedMount is one entry of the mount view.
type plannedMount struct {
	kind   mountKind
	source string // path on the host, or where a symbolic link points
	target string // path inside
	data   []byte // the content for bindData
	origin mountOrigin
}

// mountOrigin says whether the profile, the operator or the system requested a mount.
type mountOrigin int

const (
	fromSystem mountOrigin = iota
	fromProfile
	fromConfig
	fromInside // protected files in writable trees, and directories on the path to them
)

// mountPlan is the mount view of a child in build order, parents first.
type mountPlan struct {
	profile Profile
	mounts  []plannedMount
}

// newMountPlan converts a profile and the operator's rules to the mounts of cmd. A non-nil pack may combine mounts.
func newMountPlan(cmd *exec.Cmd, p Profile, rules []ExposedPath, linkSafe func() bool, pack func(*mountPlanner)) (*mountPlan, error) {
	v, err := newMountPlanner(p, rules, linkSafe)
	if err != nil {
		return nil, err
	}
	if err := v.addProgram(cmd.Path); err != nil {
		return nil, err
	}
	v.bindTmpDir()
	if pack != nil {
		pack(v)
	}
	if err := v.finishMounts(); err != nil {
		return nil, err
	}
	mounts := v.orderedMounts()
	if err := checkWorkDir(cmd.Dir, mounts, p); err != nil {
		return nil, err
	}
	return &mountPlan{profile: p, mounts: mounts}, nil
}

// newMountPlanner collects the mounts of a profile and the operator's rules. linkSafe reports whether bubblewrap can
// mount safely where others can create symlinks.
func newMountPlanner(p Profile, rules []ExposedPath, linkSafe func() bool) (*mountPlanner, error) {
	v := &mountPlanner{profile: p, linkSafe: linkSafe}
	if p.Exec && !slices.Contains(p.ReadOnly, "/") && !slices.Contains(p.ReadWrite, "/") {
		v.addSystemPaths()
	}
	if err := v.addProfilePaths(); err != nil {
		return nil, err
	}
	if err := v.addExposedPaths(rules); err != nil {
		return nil, err
	}
	if err := v.mountProtected(); err != nil {
		return nil, err
	}
	v.addKernelMounts()
	v.addSymlinks()
	if (p.Network || p.Proxied != nil) && !p.Exec {
		v.addEtcFiles(networkFiles)
	}
	if p.Proxied != nil {
		v.addResolverFiles()
	}
	return v, nil
}

// finishMounts removes redundant mounts, and adds those that protect and hide paths. Add no mounts afterwards.
func (v *mountPlanner) finishMounts() error {
	v.dropRedundantMounts()
	v.convertCopiesToBinds()
	if err := v.preventMountReplacement(); err != nil {
		return err
	}
	return v.hidePaths()
}

// dropRedundantMounts removes system mounts inside other mounts that show the same files.
func (v *mountPlanner) dropRedundantMounts() {
	v.mounts = slices.DeleteFunc(slices.Clone(v.mounts), func(m plannedMount) bool {
		if m.origin != fromSystem || m.kind == tmpfs || m.kind == procfs || m.kind == devfs {
			return false
		}
		outer, ok := v.innermostMount(m.target)
		return ok && outer.origin != fromSystem && outer.isBind() && outer.source == outer.target
	})
}

// mountPlanner collects the mounts of a plan.
type mountPlanner struct {
	profile  Profile
	linkSafe func() bool
	proc     bool // the profile names something in /proc
	dev      bool // or in /dev
	mounts   []plannedMount
	last     []plannedMount // remounts, which come after everything else
}

// setMount adds m, or replaces the mount at its target.
func (v *mountPlanner) setMount(m plannedMount) {
	for n := range v.mounts {
		if v.mounts[n].target == m.target {
			v.mounts[n] = m
			return
		}
	}
	v.mounts = append(v.mounts, m)
}

// orderedMounts returns the mounts in build order: parents first, then remounts.
func (v *mountPlanner) orderedMounts() []plannedMount {
	slices.SortStableFunc(v.mounts, func(a, b plannedMount) int { return cmp.Compare(a.target, b.target) })
	return append(v.mounts, v.last...)
}

// innermostMount returns the innermost mount that contains path. It ignores a mount exactly at path.
func (v *mountPlanner) innermostMount(path string) (plannedMount, bool) {
	var found plannedMount
	ok := false
	for _, m := range v.mounts {
		if isStrictlyBelow(m.target, path) && m.kind != symlink && (!ok || isStrictlyBelow(found.target, m.target)) {
			found, ok = m, true
		}
	}
	return found, ok
}

// hasMount reports whether a mount is exactly at path.
func (v *mountPlanner) hasMount(path string) bool {
	return slices.ContainsFunc(v.mounts, func(m plannedMount) bool { return m.target == path })
}

// coversPath reports whether a mount is at or above path.
func (v *mountPlanner) coversPath(path string) bool {
	return slices.ContainsFunc(v.mounts, func(m plannedMount) bool { return paths.Within(m.target, path) })
}

// showsHostFile reports whether path in the sandbox is the host's file at the same path.
func (v *mountPlanner) showsHostFile(path string) bool {
	if v.hasMount(path) {
		return true
	}
	m, ok := v.innermostMount(path)
	return ok && m.isBind() && m.source == m.target
}

// checkWorkDir refuses a working directory that does not exist in the sandbox.
func checkWorkDir(dir string, mounts []plannedMount, p Profile) error {
	if dir == "" {
		return nil
	}
	if err := checkAbsolutePath(dir); err != nil {
		return &ProfileError{Profile: p.Name, Problem: "cannot use the working directory: " + err.Error()}
	}
	dir = filepath.Clean(dir)
	for _, m := range mounts {
		if paths.Within(m.target, dir) || paths.Within(dir, m.target) {
			return nil
		}
	}
	return &ProfileError{Profile: p.Name, Path: dir, Problem: "is the working directory and not visible in the sandbox",
		Cure: "grant it, or choose one that is"}
}

// logPlan logs the paths of the plan, without file contents or environment values.
func (p *mountPlan) logPlan(log hclog.Logger) {
	if !log.IsDebug() {
		return
	}
	lines := make([]string, len(p.mounts))
	for n, m := range p.mounts {
		lines[n] = string(m.kind) + " " + m.target
		if m.source != "" && m.source != m.target {
			lines[n] = string(m.kind) + " " + m.source + " -> " + m.target
		}
	}
	log.Debug("linux isolation mount plan",
		"profile", p.profile.Name, "exec", p.profile.Exec, "network", p.profile.Network, "mounts", lines)
}
