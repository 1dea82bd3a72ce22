package isolation

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation/internal/cgroup"
)

// groups puts children into control groups. Where the machine lets it, a child is born in its own. Elsewhere it is
// moved there, with what it has started, once it has lived for a while: the kernel takes some milliseconds for that,
// and lets nobody on the machine start a process meanwhile.
type groups struct {
	log    hclog.Logger
	wanted bool
	once   sync.Once
	opened chan struct{} // closed when it is known whether groups can be made
	place  *cgroup.Place // nil if they can't
	err    error
	ending chan struct{}

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // what goes on in the background

	balanced sync.WaitGroup
}

// background runs f beside the rest, and at once when the groups are being closed.
func (gs *groups) background(f func()) {
	gs.mu.Lock()
	if gs.closed {
		gs.mu.Unlock()
		f()
		return
	}
	gs.work.Add(1)
	gs.mu.Unlock()
	go func() {
		defer gs.work.Done()
		f()
	}()
}

// moveAfter is how long a child has to have lived until it is moved. Until then it is bounded by what is looked at, as
// it is where there are no groups.
const moveAfter = 250 * time.Millisecond

func newGroups(wanted bool, log hclog.Logger) *groups {
	gs := &groups{log: log, wanted: wanted, opened: make(chan struct{}), ending: make(chan struct{})}
	if wanted && cgroup.Unified() {
		gs.background(gs.open)
	}
	return gs
}

// open finds out whether groups can be made, once.
func (gs *groups) open() {
	gs.once.Do(func() {
		defer close(gs.opened)
		if gs.place, gs.err = cgroup.Open(); gs.err != nil {
			gs.log.Debug("no control groups", "error", gs.err)
			return
		}
		gs.balanced.Go(gs.balance)
	})
}

// balanceEvery is how often it is looked which groups take much of the processors.
const balanceEvery = 500 * time.Millisecond

// balance has those give way that do.
func (gs *groups) balance() {
	tick := time.NewTicker(balanceEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			gs.place.Balance()
		case <-gs.ending:
			return
		}
	}
}

// close ends what is left in groups and removes them.
func (gs *groups) close() {
	gs.mu.Lock()
	gs.closed = true
	gs.mu.Unlock()
	close(gs.ending)
	gs.work.Wait()
	gs.balanced.Wait()
	if gs.place != nil {
		gs.place.Close()
	}
}

// member is one child on its way into a group of its own, in it, and out. A nil member has none.
type member struct {
	groups *groups
	name   string
	limits cgroup.Limits
	born   bool // into the whole group

	gone  chan struct{} // closed when it leaves
	mu    sync.Mutex
	group *cgroup.Group // nil until it is made
	left  bool
}

// member returns a child's membership; nil if there is no group for it.
func (gs *groups) member(p Profile) *member {
	if !gs.wanted || p.Group == (GroupLimits{}) {
		return nil
	}
	return &member{groups: gs, name: p.Name, limits: cgroup.Limits(p.Group), gone: make(chan struct{})}
}

// start calls start, which starts cmd, so that the child is born into its group if that can be had at once.
func (m *member) start(cmd *exec.Cmd, start func() error) error {
	if m == nil || !m.canBeBorn() {
		return start()
	}
	if err := m.make(); err != nil {
		return start()
	}
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	given := cmd.SysProcAttr
	into := attr
	done, ok := m.group.Birth(&into)
	if !ok {
		return start()
	}
	defer done()
	cmd.SysProcAttr = &into
	if err := start(); err == nil {
		m.born = true
		return nil
	}
	// It may be that this kernel can't, or that something else is wrong, which then shows again.
	*cmd = exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, ExtraFiles: cmd.ExtraFiles, SysProcAttr: given,
	}
	return start()
}

// canBeBorn reports whether a group can be made at once, and a child born into the whole of it.
func (m *member) canBeBorn() bool {
	select {
	case <-m.groups.opened:
		return m.groups.place != nil && m.groups.place.Births()
	default:
		return false
	}
}

// make makes the group.
func (m *member) make() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left || m.group != nil {
		return nil
	}
	group, err := m.groups.place.New(m.name, m.limits)
	if err != nil {
		m.groups.log.Warn("a process has no control group of its own", "profile", m.name, "error", err)
		return err
	}
	m.group = group
	return nil
}

// settle brings a child that was not born into its group there, with what it has started. It does not wait.
func (m *member) settle(members func() []int) {
	if m == nil || m.born {
		return
	}
	m.groups.background(func() {
		select {
		case <-time.After(moveAfter):
		case <-m.gone:
			return
		case <-m.groups.ending:
			return
		}
		m.groups.open()
		if m.groups.place == nil || m.make() != nil {
			return
		}
		m.mu.Lock()
		group := m.group
		m.mu.Unlock()
		if group == nil {
			return // it has ended meanwhile
		}
		if err := group.Take(members); err != nil {
			m.groups.log.Warn("a process is not in its control group with all that it has started", "profile", m.name, "error",
				err)
		}
	})
}

// kill ends everybody in the group, if the kernel does that.
func (m *member) kill() {
	if m == nil {
		return
	}
	m.mu.Lock()
	group := m.group
	m.mu.Unlock()
	if group != nil {
		group.Kill()
	}
}

// leave ends whoever is left in the group and removes it. It does not wait.
func (m *member) leave() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		close(m.gone)
	}
	m.left = true
	if m.group != nil {
		m.groups.background(m.group.Remove)
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
	said := Groups{Kill: gs.place.Kills()}
	names := map[string]string{cgroup.Processes: "processes", cgroup.Memory: "memory", cgroup.Processor: "processor"}
	for _, controller := range gs.place.Bounds() {
		said.Bounds = append(said.Bounds, names[controller])
	}
	if missing := gs.place.Missing(); len(missing) > 0 {
		said.Cause, said.Cure = missing[0].Cause, missing[0].Cure
	}
	return said
}
