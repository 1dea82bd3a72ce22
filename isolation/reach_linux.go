package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// accessOf returns the access that the mount view or Landlock allows to a path.
func accessOf(cfg Config, p Profile, path string) (PathAccess, error) {
	path = filepath.Clean(path)
	switch {
	case cfg.Enabled:
		p.ReadWrite = slices.DeleteFunc(p.ReadWrite, isMissing) // what is yet to be made shows nothing
		v, err := newMountPlanner(p, cfg.ExposePaths, func() bool { return true })
		if err == nil {
			err = v.finishMounts()
		}
		if err != nil {
			return PathAccess{}, err
		}
		return v.pathAccess(path), nil
	case p.Confine && landlockABI() > 0:
		return cfg.landlockAccess(p, path), nil
	}
	return PathAccess{Read: true, Write: true, Why: "nothing of the kernel's confines it"}, nil
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// pathAccess returns the access that the mounts allow to a path.
func (v *mountPlanner) pathAccess(path string) PathAccess {
	m, ok := v.innermostMount(path)
	for _, at := range v.mounts {
		if at.target == path {
			m, ok = at, true
		}
	}
	switch {
	case v.profile.Exec && isPublicEtcPath(path) && (!ok || m.target == "/"):
		return PathAccess{Read: true, Why: "the sandbox has a copy of " + path}
	case !ok:
		return PathAccess{Why: "it is not in the mount view"}
	case m.kind == bindRW:
		return PathAccess{Read: true, Write: true, Why: "the mount view shows " + m.target}
	case m.kind == bindRO:
		return PathAccess{Read: true, Why: "the mount view shows " + m.target + " read-only"}
	case m.kind == copied:
		return PathAccess{Read: true, Why: "the sandbox has a copy of " + m.source}
	case m.kind == tmpfs && slices.ContainsFunc(v.last, func(last plannedMount) bool { return last.target == m.target }):
		return PathAccess{Why: "the mount view hides " + m.target}
	}
	return PathAccess{Why: "the sandbox has a " + m.target + " of its own, and not the host's"}
}

// landlockAccess returns the access that Landlock allows to a path.
func (cfg Config) landlockAccess(p Profile, path string) PathAccess {
	var rights uint64
	var by string
	for granted, r := range cfg.pathGrants(p) {
		if !paths.Within(granted, path) {
			continue
		}
		rights |= r
		if len(granted) > len(by) {
			by = granted
		}
	}
	r := PathAccess{Read: rights&(unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR) != 0,
		Write: rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0}
	switch {
	case by == "":
		r.Why = "Landlock allows nothing there"
	case r.Write:
		r.Why = "Landlock allows " + by
	default:
		r.Why = "Landlock allows reading " + by
	}
	return r
}

// DetectFeatures returns the isolation features of this machine.
func DetectFeatures() KernelFeatures {
	return KernelFeatures{Landlock: landlockABI(), Filter: auditArch != 0}
}

// SandboxIdentity returns text that identifies kernel, bubblewrap and layers of this process's sandboxes. Sandboxes
// with equal identities have equal protection.
func (i *Starter) SandboxIdentity() string {
	var kernel unix.Utsname
	_ = unix.Uname(&kernel) // it can't fail
	text := fmt.Sprintf("%s %s %s uid=%d landlock=%d", unix.ByteSliceToString(kernel.Release[:]),
		unix.ByteSliceToString(kernel.Version[:]), unix.ByteSliceToString(kernel.Machine[:]), os.Getuid(),
		i.starter.landlock)
	if i.starter.bwrap == "" {
		return text
	}
	return text + " " + FileIdentity(i.starter.bwrap)
}

// FileIdentity returns text that changes whenever the file changes.
func FileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " cannot be examined"
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d %d %d", path, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
}

// SupportsConfine reports whether Profile.Confine works on this machine, by Landlock.
func SupportsConfine() bool { return landlockABI() > 0 }
