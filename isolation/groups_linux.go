package isolation

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation/internal/cgroup"
)

// cgroupManager creates a control group for each child.
type cgroupManager struct {
	log         hclog.Logger
	enabled     bool
	once        sync.Once
	hierarchies *cgroup.Hierarchies // nil if there can be no groups
	err         error

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // what goes on in the background
}

// runBackground runs f in a goroutine, or directly while the manager closes.
func (gs *cgroupManager) runBackground(f func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		f()
		return
	}
	gs.work.Go(f)
}

func newCgroupManager(wanted bool, log hclog.Logger) *cgroupManager {
	gs := &cgroupManager{log: log, enabled: wanted}
	if wanted {
		gs.runBackground(gs.openHierarchies)
	}
	return gs
}

// openHierarchies opens the hierarchies once, and keeps errors.
func (gs *cgroupManager) openHierarchies() {
	gs.once.Do(func() {
		if gs.hierarchies, gs.err = cgroup.OpenHierarchies(); gs.err != nil {
			gs.log.Debug("no control groups", "error", gs.err)
		}
	})
}

// closeAndRemoveGroups kills the processes in all groups and removes the groups.
func (gs *cgroupManager) closeAndRemoveGroups() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
	gs.work.Wait()
	if gs.hierarchies != nil {
		gs.hierarchies.Close()
	}
}

// cgroupMembership is a child's membership in a control group; nil for a child without one.
type cgroupMembership struct {
	groups *cgroupManager
	group  *cgroup.Group
}

// createChildGroup creates the control group of a profile's child; nil without group limits, or if groups are
// unavailable.
func (gs *cgroupManager) createChildGroup(p Profile) *cgroupMembership {
	if !gs.enabled || p.Group == (GroupLimits{}) {
		return nil
	}
	gs.openHierarchies()
	if gs.hierarchies == nil {
		return nil
	}
	group, err := gs.hierarchies.NewGroup(p.Name, p.Group)
	if err != nil {
		gs.log.Warn("a process has no control group of its own", "profile", p.Name, "error", err)
		return nil
	}
	return &cgroupMembership{gs, group}
}

// startInCgroup calls start, which starts cmd, so that cmd begins in the group. If direct is true, the kernel may clone
// cmd into a cgroup v2 group.
func (m *cgroupMembership) startInCgroup(cmd *exec.Cmd, direct bool, start func() error) error {
	if m == nil {
		return start()
	}
	again := *cmd
	var attr *syscall.SysProcAttr
	if direct {
		attr = cmd.SysProcAttr
	}
	leave, err := m.group.PrepareChildStart(attr)
	if err != nil {
		m.groups.log.Warn("a process is not in its control group", "error", err)
		return start()
	}
	err = start()
	if err != nil && attr != nil && attr.UseCgroupFD {
		// It may be that this kernel can't, or that something else is wrong, which then shows again.
		attr.UseCgroupFD = false
		*cmd = again
		err = start()
	}
	pid := 0
	if err == nil {
		pid = cmd.Process.Pid
	}
	if failed := leave(pid); failed != nil {
		m.groups.log.Warn("a process is not in its control group", "error", failed)
	}
	return err
}

// killAndRemoveGroup kills the group's processes and removes the group in the background.
func (m *cgroupMembership) killAndRemoveGroup() {
	if m != nil {
		m.groups.runBackground(m.group.KillAndRemove)
	}
}

// cgroupProcessTree is a process tree whose child is also in a control group.
type cgroupProcessTree struct {
	processTree
	member *cgroupMembership
}

// killAll kills the tree, and then the remaining processes of the group.
func (t cgroupProcessTree) killAll() {
	t.processTree.killAll()
	t.member.group.KillProcesses()
}

// CgroupSupport describes the effect of control groups on this machine.
func (i *Starter) CgroupSupport() CgroupSupport {
	gs := i.starter.groups
	if !gs.enabled {
		return CgroupSupport{Cause: "nobody asked for them"}
	}
	gs.openHierarchies()
	var problem *cgroup.UnavailableReason
	if gs.hierarchies == nil {
		if !errors.As(gs.err, &problem) {
			return CgroupSupport{Cause: gs.err.Error()}
		}
		return CgroupSupport{Cause: problem.Cause, Cure: problem.Cure, Never: problem.Never}
	}
	said := CgroupSupport{Kill: gs.hierarchies.CanKillGroup()}
	names := map[string]string{cgroup.Processes: "processes", cgroup.Memory: "memory", cgroup.Processor: "processor"}
	for _, controller := range gs.hierarchies.Controllers() {
		said.Bounds = append(said.Bounds, names[controller])
	}
	if missing := gs.hierarchies.MissingControllerReasons(); len(missing) > 0 {
		said.Cause, said.Cure = missing[0].Cause, missing[0].Cure
	}
	return said
}
