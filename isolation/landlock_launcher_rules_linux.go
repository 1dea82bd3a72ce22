package isolation

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// landlockLauncherName is the Landlock launcher's file name in a private directory of the sandbox: the root or /dev.
const landlockLauncherName = ".confine"

// planLandlockLauncher returns the Landlock launcher for a plan, and its path in the sandbox; nil without Landlock, on
// unsupported architectures, or if not requested.
//
// If the profile lists programs, Landlock does not restrict reading: the mount view shows no other programs, and checks
// at each open would slow search programs down by a tenth.
func (pl *processStarter) planLandlockLauncher(program string, plan *mountPlan) (image []byte, at string) {
	if pl.landlock == 0 || !plan.profile.Confine {
		return nil, ""
	}
	attr := newRulesetAttr(pl.landlock, true) // a namespace holds the network
	if len(plan.profile.Programs) > 0 && !plan.showsHostPath("/usr/bin") {
		attr.files &^= readTree | unix.LANDLOCK_ACCESS_FS_TRUNCATE // which is asked for at every opening, too
	}
	at = filepath.Join("/", landlockLauncherName)
	if plan.hasMountAt("/dev") {
		at = filepath.Join("/dev", landlockLauncherName)
	}
	return buildLandlockLauncher(attr, plan.landlockLauncherRules(attr.files, program), program), at
}

// landlockLauncherRules converts the mount view to Landlock rules. A rule covers all below a directory, so it does not
// protect a read-only mount inside a writable one: the mount itself does.
func (p *mountPlan) landlockLauncherRules(handled uint64, program string) []landlockLauncherRule {
	read, write := readWriteRights(p.profile)
	rules := []landlockLauncherRule{{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	if p.profile.Exec {
		for path, rights := range p.profile.systemRights() {
			if !p.showsHostPath(path) {
				continue
			}
			if real, err := filepath.EvalSymlinks(path); err == nil && !p.hasMountAt(path) {
				path = real // a mount of what is above shows the link, and Landlock takes no rule for one
			}
			if _, err := os.Stat(path); err == nil {
				rules = append(rules, landlockLauncherRule{path, plannedMount{source: path}.limitRights(rights)})
			}
		}
	}
	for _, m := range p.mounts {
		switch {
		case m.kind == bindRO && p.profile.Exec && slices.Contains(systemDirs, m.target):
			// said above
		case m.kind == bindRW:
			rules = append(rules, landlockLauncherRule{m.target, m.limitRights(write)})
		case m.kind == bindRO:
			rules = append(rules, landlockLauncherRule{m.target, m.limitRights(read)})
		case m.kind == bindData || m.kind == copied:
			rules = append(rules, landlockLauncherRule{m.target, readFile})
		case m.kind == tmpfs && m.target == "/tmp":
			rules = append(rules, landlockLauncherRule{m.target, write})
		case m.kind == procfs:
			rules = append(rules, landlockLauncherRule{m.target, readTree})
		case m.kind == devfs:
			rules = append(rules, landlockLauncherRule{m.target, readTree | writeFile}, landlockLauncherRule{filepath.Join(m.target, "shm"), write})
		}
	}
	rules = append(rules, landlockLauncherRule{program, readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE})
	for n := range rules {
		rules[n].rights &= handled
	}
	return slices.DeleteFunc(rules, func(r landlockLauncherRule) bool { return r.rights == 0 })
}

// limitRights removes rights that do not apply to the file type of a bind mount.
func (m plannedMount) limitRights(rights uint64) uint64 {
	if info, err := os.Stat(m.source); err == nil && !info.IsDir() {
		return rights & fileRights
	}
	return rights
}

// showsHostPath reports whether a mount shows a host path at the same path.
func (p *mountPlan) showsHostPath(path string) bool {
	return slices.ContainsFunc(p.mounts, func(m plannedMount) bool {
		return m.isBind() && m.source == m.target && paths.Within(m.target, path)
	})
}

// hasMountAt reports whether a mount is exactly at path.
func (p *mountPlan) hasMountAt(path string) bool {
	return slices.ContainsFunc(p.mounts, func(m plannedMount) bool { return m.target == path })
}
