package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
