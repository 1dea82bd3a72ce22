package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Problem says why groups can't be had, or not all that they could do.
type Problem struct {
	Cause string
	Cure  string // what the operator can do about it
	// Never says that it is not the configuration: this machine can't.
	Never bool
}

func (p *Problem) Error() string { return p.Cause }

// refused says in an operator's words why a hierarchy can't be used, or not for limits.
func (h *hierarchy) refused(err error) *Problem {
	p := &Problem{Cause: fmt.Sprintf("the control group %s can't be used: %v", h.own, err)}
	switch {
	case h.version == 1:
		p.Cause = fmt.Sprintf("this machine uses control groups of version 1, and %s may not make any in %s", who(), h.own)
		p.Cure = version2
		p.Never = true
	case errors.Is(err, unix.EROFS):
		p.Cause = "the control group " + h.own + " is mounted read-only"
		p.Cure = "give picoclaw a writable one (in a unit: Delegate=yes, and no ProtectControlGroups=)"
	case errors.Is(err, errNotAlone):
		p.Cause = "picoclaw is in the control group " + h.own + ", and " + errNotAlone.Error()
		p.Cure = delegated()
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		p.Cause = "the control group " + h.own + " is not delegated to " + who()
		p.Cure = delegated()
	}
	return p
}

// version2 is how to leave version 1.
const version2 = "boot with version 2 (the kernel parameter systemd.unified_cgroup_hierarchy=1)"

func who() string {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Sprintf("uid %d", uid)
	}
	return "root"
}

// delegated is how to start picoclaw in a group of its own.
func delegated() string {
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

// lacks says why there is no group that keeps a controller's limits.
func lacks(controller string, found []*hierarchy, problems []error) *Problem {
	for _, h := range found {
		if h.version == 1 && controller == Processor && slices.Contains(h.controllers, controller) {
			return &Problem{Cause: "in version 1 the processor would not be shared fairly", Cure: version2, Never: true}
		}
	}
	var why *Problem
	if errors.As(errors.Join(problems...), &why) {
		return why
	}
	return &Problem{
		Cause: "picoclaw's control group has no " + controller + " controller",
		Cure:  delegated() + "; `cat /sys/fs/cgroup/cgroup.controllers` shows what the kernel has",
	}
}
