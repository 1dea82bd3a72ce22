package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

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
