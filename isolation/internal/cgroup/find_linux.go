package cgroup

import (
	"bufio"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is one tree of groups, as this process finds it.
type hierarchy struct {
	version     int
	controllers []string // of version 1; those of version 2 are in a file of the group
	own         string   // the directory of the group that this process is in
	readOnly    bool     // it is mounted so

	base *base // what was made there
}

// membership is a line of /proc/self/cgroup: the group that a process is in, as a path in its hierarchy.
type membership struct {
	controllers string // joined by commas; empty for version 2
	path        string
}

// memberships reads /proc/self/cgroup. A group outside of this process's namespace has a path that leads up; it is left
// out.
func memberships(r io.Reader) []membership {
	var found []membership
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), ":"); ok {
			if controllers, path, ok := strings.Cut(rest, ":"); ok && filepath.IsAbs(path) && path == filepath.Clean(path) {
				found = append(found, membership{controllers, path})
			}
		}
	}
	return found
}

// mounted is a mount of a hierarchy.
type mounted struct {
	version     int
	controllers []string // of version 1
	root        string   // the group that is shown at point
	point       string
	readOnly    bool
}

// mounts reads /proc/self/mountinfo and returns the mounts of hierarchies.
func mounts(r io.Reader) []mounted {
	var found []mounted
	for lines := bufio.NewScanner(r); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		place, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(place) < 6 || len(what) < 3 {
			continue
		}
		m := mounted{root: unescape(place[3]), point: unescape(place[4])}
		if !filepath.IsAbs(m.point) || m.point != filepath.Clean(m.point) {
			continue // it is out of reach
		}
		m.readOnly = slices.Contains(strings.Split(place[5], ","), "ro")
		switch what[0] {
		case "cgroup2":
			m.version = 2
		case "cgroup":
			m.version, m.controllers = 1, strings.Split(what[2], ",")
		default:
			continue
		}
		found = append(found, m)
	}
	return found
}

// unescape undoes what the kernel does to spaces and the like in paths: \040.
func unescape(s string) string {
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

// hierarchies puts the two together: where the directory of the group is that this process is in. A hierarchy of which
// only a part is mounted that this process is not in is left out.
func hierarchies(in []membership, at []mounted) []*hierarchy {
	var found []*hierarchy
	for _, member := range in {
		for _, m := range at {
			if !m.holds(member.controllers) {
				continue
			}
			below, err := filepath.Rel(m.root, member.path)
			if err != nil || !filepath.IsLocal(below) {
				continue
			}
			found = append(found, &hierarchy{
				version: m.version, controllers: strings.Split(member.controllers, ","),
				own: filepath.Join(m.point, below), readOnly: m.readOnly,
			})
			break
		}
	}
	return found
}

// holds reports whether the mount is of the hierarchy with these controllers.
func (m mounted) holds(controllers string) bool {
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
