package isolation

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation/internal/cgroup"
)

// groupManager creates a control group for each child.
type groupManager struct {
	log     hclog.Logger
	enabled bool
	once    sync.Once
	place   *cgroup.Place // nil if there can be no groups
	err     error

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // what goes on in the background
}

// runBackground runs f in a goroutine, or directly while the manager closes.
func (gs *groupManager) runBackground(f func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		f()
		return
	}
	gs.work.Go(f)
}

func newGroupManager(wanted bool, log hclog.Logger) *groupManager {
	gs := &groupManager{log: log, enabled: wanted}
	if wanted {
		gs.runBackground(gs.openPlace)
	}
	return gs
}

// openPlace checks once whether groups can be created.
func (gs *groupManager) openPlace() {
	gs.once.Do(func() {
		if gs.place, gs.err = cgroup.OpenPlace(); gs.err != nil {
			gs.log.Debug("no control groups", "error", gs.err)
		}
	})
}

// closeGroups kills remaining processes and removes the groups.
func (gs *groupManager) closeGroups() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
	gs.work.Wait()
	if gs.place != nil {
		gs.place.Close()
	}
}

// groupMember is a child's membership in its group. A nil member has none.
type groupMember struct {
	groups *groupManager
	group  *cgroup.Group
}

// newMember creates a group for a child; nil if it gets none.
func (gs *groupManager) newMember(p Profile) *groupMember {
	if !gs.enabled || p.Group == (GroupLimits{}) {
		return nil
	}
	gs.openPlace()
	if gs.place == nil {
		return nil
	}
	group, err := gs.place.NewGroup(p.Name, p.Group)
	if err != nil {
		gs.log.Warn("a process has no control group of its own", "profile", p.Name, "error", err)
		return nil
	}
	return &groupMember{gs, group}
}

// startInGroup calls start, which starts cmd in the group. direct allows clone into a cgroup v2 group.
func (m *groupMember) startInGroup(cmd *exec.Cmd, direct bool, start func() error) error {
	if m == nil {
		return start()
	}
	again := *cmd
	var attr *syscall.SysProcAttr
	if direct {
		attr = cmd.SysProcAttr
	}
	leave, err := m.group.EnterThread(attr)
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

// killGroup kills the group's processes, if the kernel supports it.
func (m *groupMember) killGroup() {
	if m != nil {
		m.group.KillProcesses()
	}
}

// leaveGroup kills the group's processes and removes it in the background.
func (m *groupMember) leaveGroup() {
	if m != nil {
		m.groups.runBackground(m.group.RemoveGroup)
	}
}

// groupedTree is the processes of a child in a group.
type groupedTree struct {
	processTree
	member *groupMember
}

// killAll kills the known tree, and then the other processes of its group.
func (t groupedTree) killAll() {
	t.processTree.killAll()
	t.member.killGroup()
}

// CgroupSupport describes the effect of control groups on this machine.
func (i *Isolation) CgroupSupport() CgroupSupport {
	gs := i.platform.groups
	if !gs.enabled {
		return CgroupSupport{Cause: "nobody asked for them"}
	}
	gs.openPlace()
	var problem *cgroup.Problem
	if gs.place == nil {
		if !errors.As(gs.err, &problem) {
			return CgroupSupport{Cause: gs.err.Error()}
		}
		return CgroupSupport{Cause: problem.Cause, Cure: problem.Cure, Never: problem.Never}
	}
	said := CgroupSupport{Kill: gs.place.CanKillGroup()}
	names := map[string]string{cgroup.Processes: "processes", cgroup.Memory: "memory", cgroup.Processor: "processor"}
	for _, controller := range gs.place.Controllers() {
		said.Bounds = append(said.Bounds, names[controller])
	}
	if missing := gs.place.MissingControllers(); len(missing) > 0 {
		said.Cause, said.Cure = missing[0].Cause, missing[0].Cure
	}
	return said
}
