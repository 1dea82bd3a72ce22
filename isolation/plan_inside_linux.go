package isolation

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

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
