package isolation

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// platform starts processes on Linux.
type platform struct {
	cfg     Config
	log     hclog.Logger
	bwrap   string // empty unless isolation is enabled
	trial   trial
	spawner *spawner
	around  func(start func() error) error // what is done to its thread while it starts a sandbox
	brander brander
	groups  *groups
	etc     *etcCopies                  // nil for mounts one by one, and unless isolation is enabled
	behind  atomic.Pointer[filterNeeds] // the filter that this process itself is behind; nil for none

	// What the walls are made of. Tests take one away to see that it was what held.
	flags    []string                 // of bubblewrap
	landlock int                      // the version of Landlock; 0 for none
	filter   func(filterNeeds) filter // of system calls
	linkSafe func() bool              // bubblewrap mounts where others can make links, and does not follow them
}

func newPlatform(cfg Config, l layout, log hclog.Logger, m machine) (*platform, error) {
	pl := &platform{cfg: cfg, log: log, flags: sandboxFlags, landlock: landlockABI(), filter: newFilter}
	if cfg.Enabled {
		bwrap, err := findBwrap(m.bwrap)
		if err != nil {
			return nil, err
		}
		if err := checkSources(cfg.ExposePaths); err != nil {
			return nil, err
		}
		cache := filepath.Join(l.home, "cache")
		pl.trial = newTrial(bwrap, cache)
		if err := pl.trial.pass(); err != nil {
			return nil, err
		}
		pl.bwrap = bwrap
		pl.etc = newEtcCopies(cache)
		pl.linkSafe = sync.OnceValue(func() bool { return !makesMountPointsThroughLinks(bwrap, cache) })
	}
	pl.spawner, pl.around = newSpawner(), keepingDevices
	pl.groups = newGroups(cfg.Groups, log)
	return pl, nil
}

func (pl *platform) close() {
	pl.spawner.end()
	pl.groups.close()
	if pl.etc != nil {
		pl.etc.close()
	}
}

// start starts child with p's rights.
func (pl *platform) start(child *exec.Cmd, p Profile) (*Process, error) {
	if pl.cfg.Enabled {
		return pl.startSandbox(child, p)
	}
	atDeath := syscall.SIGKILL
	if p.EndsItself {
		atDeath = syscall.SIGTERM
	}
	in := pl.groups.member(p)
	var inside *domain
	fork := func() (pid int, err error) {
		if p.Confine {
			inside, err = pl.startConfined(child, p, in, atDeath)
		} else {
			err = pl.spawner.start(child, atDeath, func(start func() error) error { return in.start(child, true, start) })
		}
		if err != nil {
			return 0, err
		}
		return child.Process.Pid, nil
	}
	mark := noBrand
	var err error
	if p.Confine && pl.landlock >= scopedSignals {
		_, err = fork()
	} else {
		mark, err = pl.brander.start(fork)
	}
	if err != nil {
		in.leave()
		return nil, err
	}
	proc := pl.follow(child, inside, mark, in, p)
	_, err = lowerLimits(proc.pid, p.Limits)
	if err == nil && p.EndsItself {
		err = wakeAtHangup(child)
	}
	if err != nil {
		proc.Kill()
		return nil, err
	}
	return proc, nil
}

// follow makes a Process of a child that was started without a sandbox, and clears up behind it when it ends.
func (pl *platform) follow(child *exec.Cmd, inside *domain, mark brand, in *member, p Profile) *Process {
	pid := child.Process.Pid
	proc := &Process{pid: pid, done: make(chan struct{})}
	var among func(pids []int) []int
	var members func() []int
	if inside != nil && inside.scoped {
		own := domainTree{leader: pid, domain: inside}
		proc.tree, among = own, own.among
		members = func() []int { return own.among(proctable.IDs()) }
	} else {
		own := groupTree{leader: pid, brand: mark}
		proc.tree, among = own, own.among
		members = func() []int {
			var pids []int
			for _, e := range own.members() {
				pids = append(pids, e.PID)
			}
			return pids
		}
	}
	if in != nil {
		proc.tree = groupedTree{proc.tree, in}
	}
	proc.kernelLimit = newKernelLimit(p.Limits, vmstat)
	go proc.watch(p.Limits, members, newInherited(pid, among))
	go func() {
		awaitExit(pid)
		if !leftNothing(pid) {
			proc.tree.kill() // not reaped yet, its id is still its own
			clear(pid, among)
		}
		if inside != nil {
			inside.end()
		}
		in.leave()
		proc.finish(child, nil)
	}()
	return proc
}

func (pl *platform) startSandbox(child *exec.Cmd, p Profile) (*Process, error) {
	s, err := pl.sandbox(child, p)
	if err != nil {
		return nil, err
	}
	in := pl.groups.member(p)
	around := func(start func() error) error {
		return in.start(s.cmd, true, func() error { return pl.around(start) })
	}
	if err := pl.spawner.start(s.cmd, syscall.SIGKILL, around); err != nil {
		in.leave()
		s.close()
		if p.Proxied != nil && errors.Is(err, fs.ErrPermission) {
			err = &Unavailable{Cause: "a network of its own can't be made for " + p.Name, Err: err,
				Cure: "let picoclaw make user namespaces (Ubuntu: an AppArmor profile for it with userns), or do without network.allow"}
		}
		return nil, err
	}
	s.started()
	network := serveNetwork(s.sockets, p)
	st := followStatus(s.status)
	held := s.held
	proc := &Process{pid: s.cmd.Process.Pid, done: make(chan struct{}), contained: true}
	tree := &sandboxTree{guard: proc, status: st}
	proc.tree = tree
	proc.kernelLimit = newKernelLimit(p.Limits, vmstat)
	proc.check = func() error {
		tree.awaitKnown()
		return st.checkHeld(held)
	}
	go func() {
		awaitExit(proc.pid)
		st.awaitInit()
		network.end()
		in.leave()
		proc.finish(s.cmd, func(exit Exit) error {
			if exit.Code == 1 && !st.programRan() {
				return &SetupError{Profile: p.Name, Exit: exit, Err: pl.trial.failed()}
			}
			return nil
		})
	}()
	if err := tree.limit(p.Limits); err != nil {
		proc.Kill()
		<-proc.done
		return nil, err
	}
	go proc.watch(p.Limits, tree.members, nil) // its pid 1 adopts and reaps
	return proc, nil
}

// sandbox plans the mount view of child and builds the command that makes it.
func (pl *platform) sandbox(child *exec.Cmd, p Profile) (*sandbox, error) {
	plan, err := newPlan(child, p, pl.cfg.ExposePaths, pl.linkSafe, func(v *view) {
		if err := pl.etc.pack(v); err != nil {
			pl.log.Debug("the sandbox gets its files of /etc one by one", "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	plan.log(pl.log)
	return pl.newSandbox(child, plan)
}

// prepare rewrites cmd into the command that runs child with p's rights.
func (pl *platform) prepare(cmd, child *exec.Cmd, p Profile) error {
	if p.Confine && !pl.cfg.Enabled {
		return &ProfileError{Profile: p.Name, Problem: "is confined by the thread that starts it and cannot be prepared",
			Cure: "use Start"}
	}
	if pl.cfg.Enabled {
		s, err := pl.sandbox(child, p)
		if err != nil {
			return err
		}
		s.status.Close()
		if s.sockets != nil {
			s.close()
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

// awaitExit waits until the child pid has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
