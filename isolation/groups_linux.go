package isolation

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation/internal/cgroup"
)

// groups makes control groups for children, each of which starts in its own.
type groups struct {
	log    hclog.Logger
	wanted bool
	once   sync.Once
	place  *cgroup.Place // nil if there can be no groups
	err    error

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // what goes on in the background
}

// background runs f beside the rest, and at once when the groups are being closed.
func (gs *groups) background(f func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.closed {
		f()
		return
	}
	gs.work.Go(f)
}

func newGroups(wanted bool, log hclog.Logger) *groups {
	gs := &groups{log: log, wanted: wanted}
	if wanted {
		gs.background(gs.open)
	}
	return gs
}

// open finds out whether groups can be made, once.
func (gs *groups) open() {
	gs.once.Do(func() {
		if gs.place, gs.err = cgroup.OpenPlace(); gs.err != nil {
			gs.log.Debug("no control groups", "error", gs.err)
		}
	})
}

// close ends what is left in groups and removes them.
func (gs *groups) close() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
	gs.work.Wait()
	if gs.place != nil {
		gs.place.Close()
	}
}

// member is one child's membership in a group of its own. A nil member has none.
type member struct {
	groups *groups
	group  *cgroup.Group
}

// member makes a group for a child; it returns nil if there is none for it.
func (gs *groups) member(p Profile) *member {
	if !gs.wanted || p.Group == (GroupLimits{}) {
		return nil
	}
	gs.open()
	if gs.place == nil {
		return nil
	}
	group, err := gs.place.NewGroup(p.Name, p.Group)
	if err != nil {
		gs.log.Warn("a process has no control group of its own", "profile", p.Name, "error", err)
		return nil
	}
	return &member{gs, group}
}

// start calls start, which starts cmd from the calling thread, so that the child is in its group. Direct is for a
// thread that may have the kernel start a child in a group of version 2.
func (m *member) start(cmd *exec.Cmd, direct bool, start func() error) error {
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

// kill ends everybody in the group, if the kernel does that.
func (m *member) kill() {
	if m != nil {
		m.group.KillProcesses()
	}
}

// leave ends whoever is left in the group and removes it. It does not wait.
func (m *member) leave() {
	if m != nil {
		m.groups.background(m.group.RemoveGroup)
	}
}

// groupedTree is a tree that is in a group.
type groupedTree struct {
	tree
	member *member
}

// kill ends the tree as it is known, and then who is in the group all the same.
func (t groupedTree) kill() {
	t.tree.kill()
	t.member.kill()
}

// Groups says what control groups do on this machine, for children that are started with limits for one.
func (i *Isolation) Groups() Groups {
	gs := i.platform.groups
	if !gs.wanted {
		return Groups{Cause: "nobody asked for them"}
	}
	gs.open()
	var problem *cgroup.Problem
	if gs.place == nil {
		if !errors.As(gs.err, &problem) {
			return Groups{Cause: gs.err.Error()}
		}
		return Groups{Cause: problem.Cause, Cure: problem.Cure, Never: problem.Never}
	}
	said := Groups{Kill: gs.place.CanKillGroup()}
	names := map[string]string{cgroup.Processes: "processes", cgroup.Memory: "memory", cgroup.Processor: "processor"}
	for _, controller := range gs.place.Controllers() {
		said.Bounds = append(said.Bounds, names[controller])
	}
	if missing := gs.place.MissingControllers(); len(missing) > 0 {
		said.Cause, said.Cure = missing[0].Cause, missing[0].Cure
	}
	return said
}
