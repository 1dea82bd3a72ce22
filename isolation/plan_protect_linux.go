package isolation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// preventMountReplacement prevents processes from replacing a mount inside another one. The target must exist in the outer mount.
// If the outer mount is writable, the directories in between become mount points, which can't be renamed.
func (v *mountPlanner) preventMountReplacement() error {
	for _, m := range slices.Clone(v.mounts) {
		outer, ok := v.innermostMount(m.target)
		if !ok || !outer.isBind() || m.kind == symlink {
			continue
		}
		inside := filepath.Join(outer.source, relativePath(outer.target, m.target))
		info, err := os.Lstat(inside)
		if err != nil {
			return v.newProfileError(m.target, fmt.Sprintf("can't be mounted in %s: it does not exist there", outer.target),
				"create it first, or choose a target outside")
		}
		if m.isBind() {
			source, err := os.Lstat(m.source)
			if err != nil {
				return v.newProfileError(m.source, "cannot be mounted: "+err.Error(), "")
			}
			if source.IsDir() != info.IsDir() {
				return v.newProfileError(m.target, "is a directory on one side and a file on the other", "make both the same kind")
			}
		}
		if outer.kind == bindRW {
			if err := v.pinParents(outer, m.target, m.origin); err != nil {
				return err
			}
		}
	}
	return nil
}

// pinParents mounts the directories between outer and target onto themselves, so that they can't be renamed.
func (v *mountPlanner) pinParents(outer plannedMount, target string, origin mountOrigin) error {
	for dir := filepath.Dir(target); isStrictlyBelow(outer.target, dir); dir = filepath.Dir(dir) {
		inside := filepath.Join(outer.source, relativePath(outer.target, dir))
		if err := v.checkNoLinks(inside); err != nil {
			return err
		}
		if origin != fromInside {
			origin = outer.origin
		}
		v.setMount(plannedMount{kind: bindRW, source: inside, target: dir, origin: origin})
	}
	return nil
}

// hidePaths covers hidden directories wherever a mount would show them.
func (v *mountPlanner) hidePaths() error {
	for _, hidden := range v.profile.Hide {
		if info, err := os.Lstat(hidden); err != nil || !info.IsDir() {
			continue
		}
		for _, m := range slices.Clone(v.mounts) {
			if !m.isBind() {
				continue
			}
			if m.origin == fromConfig && paths.Within(hidden, m.source) {
				return &ConfigError{
					Key:     "isolation.expose_paths",
					Problem: fmt.Sprintf("the source %s lies in %s, which no sandbox may see", m.source, hidden),
					Cure:    "move it somewhere else",
				}
			}
			if !isStrictlyBelow(m.source, hidden) {
				continue
			}
			at := filepath.Join(m.target, relativePath(m.source, hidden))
			if inner, ok := v.innermostMount(at); ok && inner.target != m.target {
				continue // another mount stands in between and is looked at itself
			}
			if m.kind == bindRW {
				if err := v.pinParents(m, at, m.origin); err != nil {
					return err
				}
			}
			v.setMount(plannedMount{kind: tmpfs, target: at})
			v.last = append(v.last, plannedMount{kind: remountRO, target: at})
		}
	}
	return nil
}

func (m plannedMount) isBind() bool { return m.kind == bindRO || m.kind == bindRW }

// relativePath returns path relative to dir, which must contain it.
func relativePath(dir, path string) string {
	name, _ := paths.RelativeWithin(dir, path)
	return name
}

// expectedMount is a mount inside a writable directory, with the file it must show. A child could replace the source
// by a symlink before the mount, so the mount is compared afterwards.
type expectedMount struct {
	target        string
	device, inode uint64
}

// mountProtected mounts protected files in writable directories read-only.
func (v *mountPlanner) mountProtected() error {
	if v.profile.Protect == nil {
		return nil
	}
	found, err := v.profile.Protect()
	if err != nil {
		return fmt.Errorf("search for protected files: %w", err)
	}
	for _, path := range found {
		outer, ok := v.innermostMount(path)
		if !ok || outer.kind != bindRW || v.hasMount(path) || checkPathHasNoLinks(path) != nil { // gone since, or a link
			continue
		}
		v.setMount(plannedMount{kind: bindRO, source: path, target: path, origin: fromInside})
	}
	return nil
}

// expectedMounts returns the mounts inside writable directories, with the files that they must show.
func (pl *mountPlan) expectedMounts() ([]expectedMount, error) {
	var held []expectedMount
	for _, m := range pl.mounts {
		if m.origin != fromInside {
			continue
		}
		stat, err := statNoLinks(unix.AT_FDCWD, m.source)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", m.source, err)
		}
		held = append(held, expectedMount{m.target, stat.Dev, stat.Ino})
	}
	return held, nil
}

// statNoLinks returns the stat of a path, and an error if the path contains a symlink.
func statNoLinks(dir int, path string) (stat unix.Stat_t, err error) {
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return stat, err
	}
	defer func() { _ = unix.Close(fd) }()
	return stat, unix.Fstat(fd, &stat)
}

// errMountReplaced means that a mount shows an unexpected file.
var errMountReplaced = errors.New("was replaced while the sandbox was set up; try again")

// checkMounts compares mounts with the expected files through the sandbox's first process.
func checkMounts(held []expectedMount, initPid int) error {
	if len(held) == 0 {
		return nil
	}
	root, err := unix.Open("/proc/"+strconv.Itoa(initPid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look into the sandbox: %w", err)
	}
	defer func() { _ = unix.Close(root) }()
	for _, m := range held {
		rel, err := filepath.Rel("/", m.target)
		if err != nil {
			return err
		}
		stat, err := statNoLinks(root, rel)
		if err != nil || stat.Dev != m.device || stat.Ino != m.inode {
			return fmt.Errorf("%s %w", m.target, errMountReplaced)
		}
	}
	return nil
}
