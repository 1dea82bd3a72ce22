package isolation

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// heldMount is a mount on what a writable tree holds, and what is to be seen there. Whoever can write to the tree could
// put a link in the place of a source between the look at it and the mount, so the mount is looked at afterwards.
type heldMount struct {
	target        string
	device, inode uint64
}

// addProtected adds what is to stay as it is inside of what can be written.
func (v *view) addProtected() error {
	if v.profile.Protect == nil {
		return nil
	}
	found, err := v.profile.Protect()
	if err != nil {
		return fmt.Errorf("look for what is protected: %w", err)
	}
	for _, path := range found {
		outer, ok := v.holder(path)
		if !ok || outer.kind != bindRW || v.has(path) || plainPath(path) != nil { // gone since, or a link
			continue
		}
		v.set(mount{kind: bindRO, source: path, target: path, origin: fromInside})
	}
	return nil
}

// heldMounts are the mounts that lie in a tree which can be written.
func (pl *plan) heldMounts() ([]heldMount, error) {
	var held []heldMount
	for _, m := range pl.mounts {
		if m.origin != fromInside {
			continue
		}
		stat, err := statPlain(unix.AT_FDCWD, m.source)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", m.source, err)
		}
		held = append(held, heldMount{m.target, stat.Dev, stat.Ino})
	}
	return held, nil
}

// statPlain returns what is at a path that leads through no link.
func statPlain(dir int, path string) (stat unix.Stat_t, err error) {
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return stat, err
	}
	defer func() { _ = unix.Close(fd) }()
	return stat, unix.Fstat(fd, &stat)
}

// errReplaced says that a mount shows something else than was meant.
var errReplaced = errors.New("was replaced while the sandbox was made; nothing runs in it: try again")

// checkHeld looks at the mounts of a sandbox through its first process.
func checkHeld(held []heldMount, initPid int) error {
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
		stat, err := statPlain(root, rel)
		if err != nil || stat.Dev != m.device || stat.Ino != m.inode {
			return fmt.Errorf("%s %w", m.target, errReplaced)
		}
	}
	return nil
}
