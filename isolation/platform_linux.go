package isolation

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// processStarter starts processes with the isolation of this operating system.
type processStarter struct {
	cfg         Config
	log         hclog.Logger
	bwrap       string // empty unless isolation is enabled
	checker     sandboxChecker
	spawner     *jobThread
	aroundStart func(start func() error) error // wraps the start of a sandbox on its thread
	marker      processMarker
	groups      *cgroupManager
	etc         *etcCopyCache                 // nil without isolation, or to mount files separately
	ownFilter   atomic.Pointer[filterOptions] // filter of this process; nil for none

	monitoredCalls sync.Mutex // held while a listener checks and makes a call

	// Parts of the layers, which tests remove one at a time.
	flags    []string                          // of bubblewrap
	landlock int                               // the version of Landlock; 0 for none
	filter   func(filterOptions) syscallFilter // of system calls
	linkSafe func() bool                       // bubblewrap mounts where others can make links, and does not follow them
}

func (pl *processStarter) betweenChanges(f func()) {
	pl.monitoredCalls.Lock()
	defer pl.monitoredCalls.Unlock()
	f()
}

func newProcessStarter(cfg Config, l homeLayout, log hclog.Logger, bwrapPaths []string) (*processStarter, error) {
	pl := &processStarter{cfg: cfg, log: log, flags: sandboxFlags, landlock: landlockABI(), filter: newSyscallFilter}
	if cfg.Enabled {
		bwrap, err := findBwrap(bwrapPaths)
		if err != nil {
			return nil, err
		}
		if err := checkExposeSources(cfg.ExposePaths); err != nil {
			return nil, err
		}
		cache := filepath.Join(l.home, "cache")
		pl.checker = sandboxChecker{bwrap: bwrap, file: filepath.Join(cache, "sandbox-built")}
		if err := pl.checker.checkSandbox(); err != nil {
			return nil, err
		}
		pl.bwrap = bwrap
		pl.etc = newEtcCopyCache(cache)
		pl.linkSafe = sync.OnceValue(func() bool { return !bwrapFollowsLinks(bwrap, cache) })
	}
	pl.spawner, pl.aroundStart = newSpawnThread(), withProtectedDevices
	pl.groups = newCgroupManager(cfg.UseCgroups, log)
	return pl, nil
}

func (pl *processStarter) closeStarter() {
	pl.spawner.stopThread()
	pl.groups.closeAndRemoveGroups()
	if pl.etc != nil {
		pl.etc.releaseDirs()
	}
}

// startChild starts child with the rights of p.
func (pl *processStarter) startChild(child *exec.Cmd, p Profile) (*Process, error) {
	if pl.cfg.Enabled {
		return pl.startSandbox(child, p)
	}
	atDeath := syscall.SIGKILL
	if p.EndsItself {
		atDeath = syscall.SIGTERM
	}
	in := pl.groups.createChildGroup(p)
	var inside *landlockDomain
	fork := func() (pid int, err error) {
		if p.Confine {
			inside, err = pl.startConfined(child, p, in, atDeath)
		} else {
			err = pl.spawner.startProcess(child, atDeath, func(start func() error) error { return in.startInCgroup(child, true, start) })
		}
		if err != nil {
			return 0, err
		}
		return child.Process.Pid, nil
	}
	mark := noMark
	var err error
	if p.Confine && pl.landlock >= scopedSignals {
		_, err = fork()
	} else {
		mark, err = pl.marker.startMarked(fork)
	}
	if err != nil {
		in.killAndRemoveGroup()
		return nil, err
	}
	proc := pl.superviseChild(child, inside, mark, in, p)
	_, err = lowerProcessLimits(proc.pid, p.Limits)
	if err == nil && p.EndsItself {
		err = wakeAtHangup(child)
	}
	if err != nil {
		proc.Kill()
		return nil, err
	}
	return proc, nil
}

// superviseChild returns the Process of a started child without a sandbox. It enforces the limits and, when the child
// ends, kills and reaps its descendants.
func (pl *processStarter) superviseChild(child *exec.Cmd, inside *landlockDomain, mark processMark, in *cgroupMembership, p Profile) *Process {
	pid := child.Process.Pid
	proc := &Process{pid: pid, done: make(chan struct{})}
	var among func(pids []int) []int
	var members func() []int
	if inside != nil && inside.scoped {
		proc.tree, among = inside, inside.filterPIDs
		members = func() []int { return inside.filterPIDs(proctable.ListPIDs()) }
	} else {
		own := markedProcessTree{leader: pid, mark: mark}
		proc.tree, among = own, own.filterPIDs
		members = func() []int {
			var pids []int
			for _, e := range own.listMembers() {
				pids = append(pids, e.PID)
			}
			return pids
		}
	}
	if in != nil {
		proc.tree = cgroupProcessTree{proc.tree, in}
	}
	proc.oomKillLimit = newOOMKillCheck(p, vmstat)
	go proc.enforceLimits(p.Limits, members, newOrphanReaper(pid, among))
	go func() {
		awaitExit(pid)
		if !hasNoOrphans(pid) {
			proc.awaitStopGrace(func() bool { return isAnyAlive(members(), pid) })
			proc.tree.killAll() // not reaped yet, its id is still its own
			reapTree(pid, among)
		}
		if inside != nil {
			inside.stopThread()
		}
		in.killAndRemoveGroup()
		proc.reapProcess(child, nil)
	}()
	return proc
}

func (pl *processStarter) startSandbox(child *exec.Cmd, p Profile) (*Process, error) {
	s, err := pl.buildSandboxCommand(child, p)
	if err != nil {
		return nil, err
	}
	in := pl.groups.createChildGroup(p)
	around := func(start func() error) error {
		return in.startInCgroup(s.cmd, true, func() error { return pl.aroundStart(start) })
	}
	if err := pl.spawner.startProcess(s.cmd, syscall.SIGKILL, around); err != nil {
		in.killAndRemoveGroup()
		s.closeAllFiles()
		if p.Proxied != nil && errors.Is(err, fs.ErrPermission) {
			err = &UnavailableError{Cause: "a network namespace can't be created for " + p.Name, Err: err,
				Cure: "allow user namespaces for picoclaw (Ubuntu: an AppArmor profile with userns), or remove network.allow"}
		}
		return nil, err
	}
	s.args.closeFiles() // bubblewrap has its own
	network := serveNetwork(s.sockets, p)
	st := followStatus(s.status)
	held := s.held
	proc := &Process{pid: s.cmd.Process.Pid, done: make(chan struct{}), contained: true}
	tree := &sandboxProcessTree{bwrap: proc, status: st}
	proc.tree = tree
	proc.oomKillLimit = newOOMKillCheck(p, vmstat)
	proc.check = func() error {
		tree.awaitInitPID()
		return st.checkMounts(held)
	}
	go func() {
		awaitExit(proc.pid)
		st.awaitInitExit()
		network.closeNetwork()
		in.killAndRemoveGroup()
		proc.reapProcess(s.cmd, func(exit ExitStatus) error {
			if exit.Code == 1 && !st.programRan() {
				return &SetupError{Profile: p.Name, Exit: exit, Err: pl.checker.recheckSandbox()}
			}
			return nil
		})
	}()
	if err := tree.limitProcesses(p.Limits); err != nil {
		proc.Kill()
		<-proc.done
		return nil, err
	}
	go proc.enforceLimits(p.Limits, tree.listMembers, nil) // its pid 1 adopts and reaps
	return proc, nil
}

// buildSandboxCommand plans the mount view of child, and returns the bubblewrap command that creates it.
func (pl *processStarter) buildSandboxCommand(child *exec.Cmd, p Profile) (*bwrapCommand, error) {
	plan, err := newMountPlan(child, p, pl.cfg.ExposePaths, pl.linkSafe, func(v *mountPlanner) {
		if err := pl.etc.replaceEtcMounts(v); err != nil {
			pl.log.Debug("the sandbox gets its files of /etc one by one", "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	plan.logPlan(pl.log)
	return pl.newBwrapCommand(child, plan)
}

// wrapCommand rewrites cmd to run child with the rights of p.
func (pl *processStarter) wrapCommand(cmd, child *exec.Cmd, p Profile) error {
	if p.Confine && !pl.cfg.Enabled {
		return &ProfileError{Profile: p.Name, Problem: "is confined by the thread that starts it and cannot be prepared",
			Cure: "use Start"}
	}
	if pl.cfg.Enabled {
		s, err := pl.buildSandboxCommand(child, p)
		if err != nil {
			return err
		}
		s.status.Close()
		if s.sockets != nil {
			s.closeAllFiles()
			return &ProfileError{Profile: p.Name, Problem: "has a network that its start makes and cannot be prepared",
				Cure: "use Start"}
		}
		child = s.cmd
	}
	cmd.Path, cmd.Args, cmd.Env, cmd.Dir = child.Path, child.Args, child.Env, child.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = child.Stdin, child.Stdout, child.Stderr
	cmd.ExtraFiles = child.ExtraFiles
	return nil
}

// isAnyAlive reports whether a process other than the leader is alive.
func isAnyAlive(pids []int, leader int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		e, ok := proctable.Read(pid)
		return pid != leader && ok && e.IsAlive()
	})
}

// awaitExit waits until a child has ended, without reaping it.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// wakeAtHangup makes the kernel continue a stopped child when its stdin pipe is closed. This process holds the other
// end of the pipe. So a stopped child continues when this process dies, and handles its parent-death signal.
func wakeAtHangup(child *exec.Cmd) error {
	stdin, ok := child.Stdin.(*os.File)
	if !ok {
		return nil
	}
	raw, err := stdin.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = signalWhenReadable(int(fd), child.Process.Pid, unix.SIGCONT) })
	if err != nil {
		return err
	}
	return failed
}

// signalWhenReadable makes the kernel send sig to pid whenever a pipe becomes readable. A pipe also becomes readable
// when its other end is closed.
func signalWhenReadable(fd, pid int, sig unix.Signal) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return err
	}
	for _, set := range []struct{ command, value int }{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(sig)}} {
		if _, err := unix.FcntlInt(uintptr(fd), set.command, set.value); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_ASYNC)
	}
	return os.NewSyscallError("fcntl", err)
}
