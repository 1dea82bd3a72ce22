package isolation

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// stageName is where the stage stands in a sandbox: in a directory that is the sandbox's own, the root or /dev.
const stageName = ".confine"

// stage returns the stage for a plan and where it stands inside; nil where this kernel has no Landlock, where this
// architecture has no stage, or where nobody asked for it.
//
// For a profile that names its programs Landlock leaves reading to the mount view, in which then nothing is that could
// be run by reading it, and truncating to the right to write. It looks at each directory above a file that is opened,
// and programs of that kind, such as those that search, open tens of thousands: it would be a tenth of the time that
// they take.
func (pl *platform) stage(program string, plan *plan) (image []byte, at string) {
	if pl.landlock == 0 || !plan.profile.Confine {
		return nil, ""
	}
	attr := newAttributes(pl.landlock, true) // a namespace holds the network
	if len(plan.profile.Programs) > 0 && !plan.reaches("/usr/bin") {
		attr.files &^= readTree | unix.LANDLOCK_ACCESS_FS_TRUNCATE // which is asked for at every opening, too
	}
	at = filepath.Join("/", stageName)
	if plan.shows("/dev") {
		at = filepath.Join("/dev", stageName)
	}
	return stageProgram(attr, plan.stageRules(attr.files, program), program), at
}

// stageRules say in Landlock's terms what the mount view shows. Rights to a directory reach all that is below; where an
// inner mount has fewer, the mount is what holds.
func (p *plan) stageRules(handled uint64, program string) []stageRule {
	read, write := treeRights(p.profile)
	rules := []stageRule{{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	if p.profile.Exec {
		for path, rights := range p.profile.systemRights() {
			if !p.reaches(path) {
				continue
			}
			if real, err := filepath.EvalSymlinks(path); err == nil && !p.shows(path) {
				path = real // a mount of what is above shows the link, and Landlock takes no rule for one
			}
			if _, err := os.Stat(path); err == nil {
				rules = append(rules, stageRule{path, mount{source: path}.atMost(rights)})
			}
		}
	}
	for _, m := range p.mounts {
		switch {
		case m.kind == bindRO && p.profile.Exec && slices.Contains(systemDirs, m.target):
			// said above
		case m.kind == bindRW:
			rules = append(rules, stageRule{m.target, m.atMost(write)})
		case m.kind == bindRO:
			rules = append(rules, stageRule{m.target, m.atMost(read)})
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

// atMost leaves of rights what can be given to what a bind mount shows: to anything but a directory, those of files.
func (m mount) atMost(rights uint64) uint64 {
	if info, err := os.Stat(m.source); err == nil && !info.IsDir() {
		return rights & fileRights
	}
	return rights
}

// reaches reports whether a mount shows what is at path on the host, at the same place.
func (p *plan) reaches(path string) bool {
	for _, m := range p.mounts {
		if m.bind() && m.source == m.target && paths.Within(m.target, path) {
			return true
		}
	}
	return false
}

// shows reports whether a mount stands exactly at path.
func (p *plan) shows(path string) bool {
	for _, m := range p.mounts {
		if m.target == path {
			return true
		}
	}
	return false
}
