package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// protect checks every mount that lies inside another one. Its place has to
// exist there, and where the outer mount is writable the directories in
// between are pinned: a mount point cannot be renamed, so nobody can move the
// protected path aside and put a new one in its place.
func (v *view) protect() error {
	for _, m := range slices.Clone(v.mounts) {
		outer, ok := v.holder(m.target)
		if !ok || !outer.bind() || m.kind == symlink {
			continue
		}
		inside := filepath.Join(outer.source, rel(outer.target, m.target))
		info, err := os.Lstat(inside)
		if err != nil {
			return v.fail(m.target, fmt.Sprintf("is to be mounted in %s and does not exist there", outer.target),
				"make it first, or choose a place outside")
		}
		if m.bind() {
			source, err := os.Lstat(m.source)
			if err != nil {
				return v.fail(m.source, "cannot be mounted: "+err.Error(), "")
			}
			if !sameKind(source, info) {
				return v.fail(m.target, "is a directory on one side and a file on the other", "make both the same kind")
			}
		}
		if outer.kind == bindRW {
			if err := v.pin(outer, m.target, m.origin); err != nil {
				return err
			}
		}
	}
	return nil
}

// pin mounts the directories between outer and target onto themselves.
func (v *view) pin(outer mount, target string, origin origin) error {
	for dir := filepath.Dir(target); below(outer.target, dir); dir = filepath.Dir(dir) {
		inside := filepath.Join(outer.source, rel(outer.target, dir))
		if err := v.checkPlain(inside); err != nil {
			return err
		}
		if origin != fromInside {
			origin = outer.origin
		}
		v.set(mount{kind: bindRW, source: inside, target: dir, origin: origin})
	}
	return nil
}

// hide covers every hidden directory that one of the mounts would show, in
// every place where it would appear.
func (v *view) hide() error {
	for _, hidden := range v.profile.Hide {
		if info, err := os.Lstat(hidden); err != nil || !info.IsDir() {
			continue
		}
		for _, m := range slices.Clone(v.mounts) {
			if !m.bind() {
				continue
			}
			if m.origin == fromConfig && paths.Within(hidden, m.source) {
				return &ConfigError{
					Key:     "isolation.expose_paths",
					Problem: fmt.Sprintf("the source %s lies in %s, which no sandbox may see", m.source, hidden),
					Cure:    "move it somewhere else",
				}
			}
			if !below(m.source, hidden) {
				continue
			}
			at := filepath.Join(m.target, rel(m.source, hidden))
			if inner, ok := v.holder(at); ok && inner.target != m.target {
				continue // another mount stands in between and is looked at itself
			}
			if m.kind == bindRW {
				if err := v.pin(m, at, m.origin); err != nil {
					return err
				}
			}
			v.set(mount{kind: tmpfs, target: at})
			v.last = append(v.last, mount{kind: remountRO, target: at})
		}
	}
	return nil
}

func (m mount) bind() bool { return m.kind == bindRO || m.kind == bindRW }

// rel is the path of path relative to dir, which holds it.
func rel(dir, path string) string {
	name, _ := paths.Below(dir, path)
	return name
}
