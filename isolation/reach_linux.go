package isolation

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

func reach(cfg Config, p Profile, path string) (Reach, error) {
	path = filepath.Clean(path)
	switch {
	case cfg.Enabled:
		p.ReadWrite = slices.DeleteFunc(p.ReadWrite, missing) // what is yet to be made shows nothing
		v, err := newView(p, cfg.ExposePaths, func() bool { return true })
		if err == nil {
			err = v.close()
		}
		if err != nil {
			return Reach{}, err
		}
		return v.reach(path), nil
	case p.Confine && landlockABI() > 0:
		return cfg.confined(p, path), nil
	}
	return Reach{Read: true, Write: true, Why: "nothing of the kernel's confines it"}, nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// reach finds the mount that shows a path.
func (v *view) reach(path string) Reach {
	m, ok := v.holder(path)
	for _, at := range v.mounts {
		if at.target == path {
			m, ok = at, true
		}
	}
	switch {
	case !ok:
		return Reach{Why: "it is not in the mount view"}
	case m.kind == bindRW:
		return Reach{Read: true, Write: true, Why: "the mount view shows " + m.target}
	case m.kind == bindRO:
		return Reach{Read: true, Why: "the mount view shows " + m.target + " read-only"}
	case m.kind == copied:
		return Reach{Read: true, Why: "the sandbox has a copy of " + m.source}
	case m.kind == tmpfs && slices.ContainsFunc(v.last, func(last mount) bool { return last.target == m.target }):
		return Reach{Why: "the mount view hides " + m.target}
	}
	return Reach{Why: "the sandbox has a " + m.target + " of its own, and not the host's"}
}

// confined adds up what Landlock allows for the path and the directories above it.
func (cfg Config) confined(p Profile, path string) Reach {
	var rights uint64
	var by string
	for granted, r := range cfg.grants(p) {
		if !paths.Within(granted, path) {
			continue
		}
		rights |= r
		if len(granted) > len(by) {
			by = granted
		}
	}
	r := Reach{Read: rights&(unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR) != 0,
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
