package cgroup

import (
	"bufio"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is a mounted cgroup hierarchy, with this process's group in it.
type hierarchy struct {
	version     int
	controllers []string // controllers of v1; in v2 a file of the group lists them
	ownGroup    string   // directory of the group of this process
	readOnly    bool     // mounted read-only

	base *baseDir // directory created by this process
}

// membership is a line of /proc/self/cgroup: the group of a process, as a path in its hierarchy.
type membership struct {
	controllers string // joined by commas; empty for version 2
	path        string
}

// parseMemberships parses /proc/self/cgroup. It omits groups outside this process's cgroup namespace ("..").
func parseMemberships(r io.Reader) []membership {
	var result []membership
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), ":"); ok {
			if controllers, path, ok := strings.Cut(rest, ":"); ok && filepath.IsAbs(path) && path == filepath.Clean(path) {
				result = append(result, membership{controllers, path})
			}
		}
	}
	return result
}

// cgroupMount is a mounted directory of a hierarchy.
type cgroupMount struct {
	version     int
	controllers []string // of version 1
	root        string   // group mounted at point
	point       string
	readOnly    bool
}

// parseMounts returns the cgroup mounts in /proc/self/mountinfo.
func parseMounts(r io.Reader) []cgroupMount {
	var result []cgroupMount
	for lines := bufio.NewScanner(r); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		mountFields, sourceFields := strings.Fields(before), strings.Fields(after)
		if !ok || len(mountFields) < 6 || len(sourceFields) < 3 {
			continue
		}
		m := cgroupMount{root: unescapePath(mountFields[3]), point: unescapePath(mountFields[4])}
		if !filepath.IsAbs(m.point) || m.point != filepath.Clean(m.point) {
			continue // the mount point is outside this process's root
		}
		m.readOnly = slices.Contains(strings.Split(mountFields[5], ","), "ro")
		switch sourceFields[0] {
		case "cgroup2":
			m.version = 2
		case "cgroup":
			m.version, m.controllers = 1, strings.Split(sourceFields[2], ",")
		default:
			continue
		}
		result = append(result, m)
	}
	return result
}

// unescapePath decodes the octal escapes of the kernel in a path, such as \\040 for a space.
func unescapePath(s string) string {
	var b strings.Builder
	for n := 0; n < len(s); n++ {
		if s[n] == '\\' && n+3 < len(s) {
			if char, err := strconv.ParseUint(s[n+1:n+4], 8, 8); err == nil {
				b.WriteByte(byte(char))
				n += 3
				continue
			}
		}
		b.WriteByte(s[n])
	}
	return b.String()
}

// matchHierarchies finds the mounted directory of each membership. It omits memberships whose group no mount shows.
func matchHierarchies(members []membership, mounts []cgroupMount) []*hierarchy {
	var result []*hierarchy
	for _, member := range members {
		for _, m := range mounts {
			if !m.hasControllers(member.controllers) {
				continue
			}
			below, err := filepath.Rel(m.root, member.path)
			if err != nil || !filepath.IsLocal(below) {
				continue
			}
			result = append(result, &hierarchy{
				version: m.version, controllers: strings.Split(member.controllers, ","),
				ownGroup: filepath.Join(m.point, below), readOnly: m.readOnly,
			})
			break
		}
	}
	return result
}

// hasControllers reports whether the mount shows the hierarchy with these controllers.
func (m cgroupMount) hasControllers(controllers string) bool {
	if controllers == "" {
		return m.version == 2
	}
	for controller := range strings.SplitSeq(controllers, ",") {
		if m.version != 1 || !slices.Contains(m.controllers, controller) {
			return false
		}
	}
	return true
}
