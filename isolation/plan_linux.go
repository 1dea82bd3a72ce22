package isolation

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// mountKind is what stands at a place of the mount view. The values are
// bubblewrap's names.
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

// mount is one entry of the mount view.
type mount struct {
	kind   mountKind
	source string // path on the host, or where a symbolic link points
	target string // path inside
	data   []byte // the content for bindData
	origin origin
}

// origin says who asked for a mount.
type origin int

const (
	fromSystem origin = iota
	fromProfile
	fromConfig
	fromInside // what is protected in a tree that can be written, and the directories on the way to it
)

// plan is the mount view of one child, in the order in which it is built:
// parents come before what lies in them.
type plan struct {
	profile Profile
	mounts  []mount
}

// newPlan turns a profile and the operator's rules into a mount view for cmd. pack may put fewer mounts into the place
// of several; it may be nil.
func newPlan(cmd *exec.Cmd, p Profile, rules []ExposePath, linkSafe func() bool, pack func(*view)) (*plan, error) {
	v, err := newView(p, rules, linkSafe)
	if err != nil {
		return nil, err
	}
	if err := v.addProgram(cmd.Path); err != nil {
		return nil, err
	}
	if pack != nil {
		pack(v)
	}
	if err := v.close(); err != nil {
		return nil, err
	}
	mounts := v.ordered()
	if err := checkDir(cmd.Dir, mounts, p); err != nil {
		return nil, err
	}
	return &plan{profile: p, mounts: mounts}, nil
}

// newView collects what a profile and the operator's rules show. linkSafe reports whether bubblewrap can be trusted to
// mount where others can make links.
func newView(p Profile, rules []ExposePath, linkSafe func() bool) (*view, error) {
	v := &view{profile: p, linkSafe: linkSafe}
	if p.Exec && !slices.Contains(p.ReadOnly, "/") && !slices.Contains(p.ReadWrite, "/") {
		v.addSystem()
	}
	if err := v.addProfile(); err != nil {
		return nil, err
	}
	if err := v.addExposed(rules); err != nil {
		return nil, err
	}
	if err := v.addProtected(); err != nil {
		return nil, err
	}
	v.addKernel()
	if (p.Network || p.Proxied != nil) && !p.Exec {
		v.addNetworkFiles()
	}
	if p.Proxied != nil {
		v.addNames()
	}
	return v, nil
}

// close protects and hides what has to be. Nothing is added to the view afterwards.
func (v *view) close() error {
	v.yield()
	v.neverWriteThrough()
	if err := v.protect(); err != nil {
		return err
	}
	return v.hide()
}

// yield takes out what the system needs and a wider mount shows anyhow, as the host has it.
func (v *view) yield() {
	v.mounts = slices.DeleteFunc(slices.Clone(v.mounts), func(m mount) bool {
		if m.origin != fromSystem || m.kind == tmpfs || m.kind == procfs || m.kind == devfs {
			return false
		}
		outer, ok := v.holder(m.target)
		return ok && outer.origin != fromSystem && outer.bind() && outer.source == outer.target
	})
}

// view collects the mounts of a plan.
type view struct {
	profile  Profile
	linkSafe func() bool
	proc     bool // the profile names something in /proc
	dev      bool // or in /dev
	mounts   []mount
	last     []mount // remounts, which come after everything else
}

// set puts m at its target, in place of what another rule put there before.
func (v *view) set(m mount) {
	for n := range v.mounts {
		if v.mounts[n].target == m.target {
			v.mounts[n] = m
			return
		}
	}
	v.mounts = append(v.mounts, m)
}

// ordered returns the mounts, parents first, and the remounts after them.
func (v *view) ordered() []mount {
	slices.SortStableFunc(v.mounts, func(a, b mount) int { return cmp.Compare(a.target, b.target) })
	return append(v.mounts, v.last...)
}

// holder returns the innermost mount that holds path, apart from one that
// stands exactly there.
func (v *view) holder(path string) (mount, bool) {
	var found mount
	ok := false
	for _, m := range v.mounts {
		if below(m.target, path) && m.kind != symlink && (!ok || below(found.target, m.target)) {
			found, ok = m, true
		}
	}
	return found, ok
}

// has reports whether a mount stands exactly at path.
func (v *view) has(path string) bool {
	return slices.ContainsFunc(v.mounts, func(m mount) bool { return m.target == path })
}

// covers reports whether a mount at or above path exists.
func (v *view) covers(path string) bool {
	return slices.ContainsFunc(v.mounts, func(m mount) bool { return paths.Within(m.target, path) })
}

// shows reports whether path inside is the host's file of that name.
func (v *view) shows(path string) bool {
	if v.has(path) {
		return true
	}
	m, ok := v.holder(path)
	return ok && m.bind() && m.source == m.target
}

// checkDir refuses a working directory that does not exist inside.
func checkDir(dir string, mounts []mount, p Profile) error {
	if dir == "" {
		return nil
	}
	if err := checkPath(dir); err != nil {
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

// log writes the plan down. It holds paths and no content, and no value of any
// environment variable.
func (p *plan) log(log hclog.Logger) {
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
