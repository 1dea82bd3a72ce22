package isolation

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// addProfilePaths adds the profile's paths.
func (v *mountPlanner) addProfilePaths() error {
	for _, path := range v.profile.ReadWrite {
		if err := v.addProfilePath(bindRW, path); err != nil {
			return err
		}
	}
	for _, path := range v.profile.ReadOnly {
		if err := v.addProfilePath(bindRO, path); err != nil {
			return err
		}
	}
	for _, target := range slices.Sorted(maps.Keys(v.profile.Elsewhere)) {
		source := v.profile.Elsewhere[target]
		if err := v.checkProfilePath(source); err != nil {
			return err
		}
		v.setMount(plannedMount{kind: bindRW, source: source, target: target, origin: fromProfile})
	}
	return nil
}

// addProfilePath adds a path of the profile. For kernel file systems such as /proc it adds the sandbox's own.
func (v *mountPlanner) addProfilePath(kind mountKind, path string) error {
	switch {
	case paths.Within("/proc", path):
		v.proc = true
		return nil
	case paths.Within("/dev", path):
		v.dev = true
		return nil
	}
	if err := v.checkProfilePath(path); err != nil {
		return err
	}
	v.setMount(plannedMount{kind: kind, source: path, target: path, origin: fromProfile})
	return nil
}

// checkProfilePath refuses a profile path that is missing, contains a symlink, or would show hidden paths.
func (v *mountPlanner) checkProfilePath(path string) error {
	for _, hidden := range v.profile.Hide {
		if path == hidden {
			return v.newProfileError(path, "is both visible and hidden", "grant a directory inside it or another one")
		}
	}
	return v.checkNoLinks(path)
}

// checkNoLinks refuses a path that is missing or contains a symlink.
func (v *mountPlanner) checkNoLinks(path string) error {
	err := checkPathHasNoLinks(path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP):
		return v.newProfileError(path, "leads through a symbolic link", "name the symlink's target")
	case errors.Is(err, unix.ENOENT):
		return v.newProfileError(path, "does not exist", "create it, or remove it from the grants")
	default:
		return v.newProfileError(path, "cannot be opened: "+err.Error(), "")
	}
}

// checkPathHasNoLinks opens and closes a path. It returns unix.ELOOP if a component is a symlink.
func checkPathHasNoLinks(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		return unix.Close(fd)
	}
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	if real != filepath.Clean(path) {
		return unix.ELOOP
	}
	return nil
}

func (v *mountPlanner) newProfileError(path, problem, cure string) error {
	return &ProfileError{Profile: v.profile.Name, Path: path, Problem: problem, Cure: cure}
}

// addExposedPaths adds the paths that the operator exposes.
func (v *mountPlanner) addExposedPaths(rules []ExposedPath) error {
	for n, rule := range rules {
		m, err := v.exposedMount(rule, fmt.Sprintf("isolation.expose_paths: %s to %s (%d)", rule.Source, rule.Target, n))
		if err != nil {
			return err
		}
		v.setMount(m)
	}
	return nil
}

func (v *mountPlanner) exposedMount(rule ExposedPath, key string) (plannedMount, error) {
	kind := bindRO
	if rule.Mode == ModeReadWrite {
		kind = bindRW
	}
	// Whoever can write the directory that holds the target can put a
	// symbolic link there, and the mount point would be made where it leads.
	for _, m := range v.mounts {
		if m.kind == bindRW && m.origin == fromProfile && paths.Within(m.source, rule.Source) {
			cure := "expose a directory that no agent can change"
			if m.source == "/" {
				cure = "without the rule it sees all files except /tmp; remove the rule, or restrict the agent to a workspace"
			}
			return plannedMount{}, &ConfigError{
				Key:     key,
				Problem: fmt.Sprintf("the source lies in %s, which the sandbox %s can write", m.source, v.profile.Name),
				Cure:    cure,
			}
		}
		if m.kind == bindRW && (rule.Target == m.target || isStrictlyBelow(m.target, rule.Target) && !v.linkSafe()) {
			return plannedMount{}, &ConfigError{
				Key:     key,
				Problem: fmt.Sprintf("the target lies in %s, which the sandbox %s can write, and bubblewrap would follow a symlink there", m.target, v.profile.Name),
				Cure: "choose a target outside every writable directory, such as /exposed/" + filepath.Base(rule.Target) +
					", or install bubblewrap 0.12 or later",
			}
		}
	}
	return plannedMount{kind: kind, source: rule.Source, target: rule.Target, origin: fromConfig}, nil
}

// addSymlinks adds the profile's symlinks, except in directories that a mount shows.
func (v *mountPlanner) addSymlinks() {
	for path, target := range v.profile.Links {
		if outer, ok := v.innermostMount(path); !v.hasMount(path) && (!ok || !outer.isBind()) {
			v.setMount(plannedMount{kind: symlink, source: target, target: path, origin: fromProfile})
		}
	}
}

// addProgram adds the program's file, unless a mount already shows it.
func (v *mountPlanner) addProgram(path string) error {
	if err := checkAbsolutePath(path); err != nil {
		return v.newProfileError("", "cannot start a program: "+err.Error(), "")
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return v.newProfileError(path, "is the program and cannot be found", "")
	}
	if !v.profile.Exec {
		if err := v.checkStatic(real); err != nil {
			return err
		}
	}
	if !v.showsHostFile(real) {
		v.setMount(plannedMount{kind: bindRO, source: real, target: path, origin: fromProfile})
	}
	return nil
}

// checkStatic refuses a dynamically linked program if its sandbox lacks the libraries.
func (v *mountPlanner) checkStatic(path string) error {
	file, err := elf.Open(path)
	if format := (*elf.FormatError)(nil); errors.As(err, &format) {
		return v.newProfileError(path, "is a script or something else that needs a program to run it, and its sandbox has none",
			"build a program of it, statically linked, or grant exec")
	}
	if err != nil {
		return v.newProfileError(path, "is not a program that can run without a system: "+err.Error(),
			"grant exec, or use a statically linked program")
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return v.newProfileError(path, "is dynamically linked, and its sandbox has no libraries",
				"build it with CGO_ENABLED=0, or grant exec")
		}
	}
	return nil
}
