package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

// UnavailableReason is a reason why groups, or some controllers, are unavailable.
type UnavailableReason struct {
	Cause string
	Cure  string // remedy for the operator
	// Never reports whether no configuration of picoclaw can help.
	Never bool
}

func (p *UnavailableReason) Error() string { return p.Cause }

// newUnavailableReason converts an error to a reason with its remedy.
func (h *hierarchy) newUnavailableReason(err error) *UnavailableReason {
	p := &UnavailableReason{Cause: fmt.Sprintf("the control group %s can't be used: %v", h.ownGroup, err)}
	switch {
	case h.version == 1:
		p.Cause = fmt.Sprintf("this machine uses control groups of version 1, and %s may not make any in %s", describeCurrentUser(), h.ownGroup)
		p.Cure = version2Cure
		p.Never = true
	case errors.Is(err, unix.EROFS):
		p.Cause = "the control group " + h.ownGroup + " is mounted read-only"
		p.Cure = "give picoclaw a writable one (in a unit: Delegate=yes, and no ProtectControlGroups=)"
	case errors.Is(err, errSharedGroup):
		p.Cause = "picoclaw is in the control group " + h.ownGroup + ", and " + errSharedGroup.Error()
		p.Cure = delegationCure()
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		p.Cause = "the control group " + h.ownGroup + " is not delegated to " + describeCurrentUser()
		p.Cure = delegationCure()
	}
	return p
}

// version2Cure is the remedy for machines with cgroup v1.
const version2Cure = "boot with version 2 (the kernel parameter systemd.unified_cgroup_hierarchy=1)"

// describeCurrentUser returns "root" or the uid of this process for messages.
func describeCurrentUser() string {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Sprintf("uid %d", uid)
	}
	return "root"
}

// delegationCure returns instructions to start picoclaw in a group of its own.
func delegationCure() string {
	user := ""
	if os.Geteuid() != 0 {
		user = "--user "
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return "start picoclaw with `systemd-run " + user +
			"--scope -p Delegate=yes picoclaw …`, or from a unit with Delegate=yes"
	}
	return fmt.Sprintf("make a group for it as root, `mkdir /sys/fs/cgroup/picoclaw && chown -R %d /sys/fs/cgroup/picoclaw`, and start it there", os.Geteuid())
}

// explainMissingController returns the reason why no group has a controller.
func explainMissingController(controller string, found []*hierarchy, problems []error) *UnavailableReason {
	for _, h := range found {
		if h.version == 1 && controller == Processor && slices.Contains(h.controllers, controller) {
			return &UnavailableReason{Cause: "in version 1 the processor would not be shared fairly", Cure: version2Cure, Never: true}
		}
	}
	var problem *UnavailableReason
	if errors.As(errors.Join(problems...), &problem) {
		return problem
	}
	return &UnavailableReason{
		Cause: "picoclaw's control group has no " + controller + " controller",
		Cure:  delegationCure() + "; `cat /sys/fs/cgroup/cgroup.controllers` shows what the kernel has",
	}
}
