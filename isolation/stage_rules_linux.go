package isolation

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// stageName is the path of the stage, in a private directory of the sandbox: the root or /dev.
const stageName = ".confine"

// buildStage returns the stage for a plan and its path in the sandbox; nil without Landlock, on unsupported
// architectures, or if not requested.
//
// For a profile with a list of programs, Landlock leaves reading to the mount view, which has nothing else to execute,
// and truncation to the write right. Landlock checks each directory above an opened file, which costs search programs a
// tenth of their time.
func (pl *platform) buildStage(program string, plan *mountPlan) (image []byte, at string) {
	if pl.landlock == 0 || !plan.profile.Confine {
		return nil, ""
	}
	attr := newRulesetAttr(pl.landlock, true) // a namespace holds the network
	if len(plan.profile.Programs) > 0 && !plan.showsHostPath("/usr/bin") {
		attr.files &^= readTree | unix.LANDLOCK_ACCESS_FS_TRUNCATE // which is asked for at every opening, too
	}
	at = filepath.Join("/", stageName)
	if plan.hasMountAt("/dev") {
		at = filepath.Join("/dev", stageName)
	}
	return stageProgram(attr, plan.stageRules(attr.files, program), program), at
}

// stageRules returns the mount view as Landlock rules. Rights apply to everything below a directory; inner mounts with
// fewer rights are enforced by the mount.
func (p *mountPlan) stageRules(handled uint64, program string) []stageRule {
	read, write := treeRights(p.profile)
	rules := []stageRule{{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	if p.profile.Exec {
		for path, rights := range p.profile.systemRights() {
			if !p.showsHostPath(path) {
				continue
			}
			if real, err := filepath.EvalSymlinks(path); err == nil && !p.hasMountAt(path) {
				path = real // a mount of what is above shows the link, and Landlock takes no rule for one
			}
			if _, err := os.Stat(path); err == nil {
				rules = append(rules, stageRule{path, viewMount{source: path}.limitRights(rights)})
			}
		}
	}
	for _, m := range p.mounts {
		switch {
		case m.kind == bindRO && p.profile.Exec && slices.Contains(systemDirs, m.target):
			// said above
		case m.kind == bindRW:
			rules = append(rules, stageRule{m.target, m.limitRights(write)})
		case m.kind == bindRO:
			rules = append(rules, stageRule{m.target, m.limitRights(read)})
		case m.kind == bindData || m.kind == copied:
			rules = append(rules, stageRule{m.target, readFile})
		case m.kind == tmpfs && m.target == "/tmp":
			rules = append(rules, stageRule{m.target, write})
		case m.kind == procfs:
			rules = append(rules, stageRule{m.target, readTree})
		case m.kind == devfs:
			rules = append(rules, stageRule{m.target, readTree | writeFile}, stageRule{filepath.Join(m.target, "shm"), write})
		}
	}
	rules = append(rules, stageRule{program, readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE})
	for n := range rules {
		rules[n].rights &= handled
	}
	return slices.DeleteFunc(rules, func(r stageRule) bool { return r.rights == 0 })
}

// limitRights removes rights that a bind mount's file type can't have.
func (m viewMount) limitRights(rights uint64) uint64 {
	if info, err := os.Stat(m.source); err == nil && !info.IsDir() {
		return rights & fileRights
	}
	return rights
}

// showsHostPath reports whether a mount shows a host path at the same place.
func (p *mountPlan) showsHostPath(path string) bool {
	for _, m := range p.mounts {
		if m.isBind() && m.source == m.target && paths.Within(m.target, path) {
			return true
		}
	}
	return false
}

// hasMountAt reports whether a mount is exactly at path.
func (p *mountPlan) hasMountAt(path string) bool {
	for _, m := range p.mounts {
		if m.target == path {
			return true
		}
	}
	return false
}
