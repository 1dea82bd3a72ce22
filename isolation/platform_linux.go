package isolation

import (
	"crypto/rand"
	"os/exec"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// platform starts processes on Linux.
type platform struct {
	cfg     Config
	log     hclog.Logger
	bwrap   string // empty unless isolation is enabled
	spawner *spawner
	orphans orphans
}

func newPlatform(cfg Config, l layout, log hclog.Logger, m machine) (*platform, error) {
	pl := &platform{cfg: cfg, log: log}
	if cfg.Enabled {
		bwrap, err := findBwrap(m.bwrap)
		if err != nil {
			return nil, err
		}
		if err := checkSources(cfg.ExposePaths); err != nil {
			return nil, err
		}
		if err := probeBwrap(bwrap); err != nil {
			return nil, err
		}
		pl.bwrap = bwrap
	}
	pl.spawner = newSpawner()
	return pl, nil
}

func (pl *platform) close() { pl.spawner.end() }

// start starts child with p's rights.
func (pl *platform) start(child *exec.Cmd, p Profile) (*Process, error) {
	if pl.cfg.Enabled {
		return pl.startSandbox(child, p)
	}
	atDeath := syscall.SIGKILL
	if p.EndsItself {
		atDeath = syscall.SIGTERM
	}
	start := pl.spawner.start
	if p.Confine {
		start = func(child *exec.Cmd, atDeath syscall.Signal) error { return pl.startConfined(child, p, atDeath) }
	}
	mark := ""
	if adopting() {
		mark = rand.Text()
		child.Env = append(child.Env, markVariable+"="+mark)
		pl.orphans.expect(mark)
	}
	if err := start(child, atDeath); err != nil {
		pl.orphans.forget(mark)
		return nil, err
	}
	tree := groupTree{leader: child.Process.Pid}
	if mark != "" {
		pl.orphans.started(mark, tree.leader)
		tree.left = func(table []procEntry) []procEntry { return pl.orphans.of(mark, table) }
	}
	proc := &Process{pid: tree.leader, tree: tree, done: make(chan struct{})}
	go func() {
		awaitExit(proc.pid)
		// Not reaped yet, its id is still its own.
		tree.kill()
		if mark != "" {
			pl.orphans.end(mark)
			pl.orphans.forget(mark)
		}
		proc.finish(child, nil)
	}()
	return proc, nil
}

func (pl *platform) startSandbox(child *exec.Cmd, p Profile) (*Process, error) {
	s, err := pl.sandbox(child, p)
	if err != nil {
		return nil, err
	}
	if err := pl.spawner.start(s.cmd, syscall.SIGKILL); err != nil {
		s.close()
		return nil, err
	}
	s.started()
	st := followStatus(s.status)
	proc := &Process{pid: s.cmd.Process.Pid, done: make(chan struct{})}
	proc.tree = &sandboxTree{guard: proc, status: st}
	go func() {
		awaitExit(proc.pid)
		st.awaitInit()
		proc.finish(s.cmd, func(exit Exit) error {
			if exit.Code == 1 && !st.programRan() {
				return &SetupError{Profile: p.Name, Exit: exit}
			}
			return nil
		})
	}()
	return proc, nil
}

// sandbox plans the mount view of child and builds the command that makes it.
func (pl *platform) sandbox(child *exec.Cmd, p Profile) (*sandbox, error) {
	plan, err := newPlan(child, p, pl.cfg.ExposePaths)
	if err != nil {
		return nil, err
	}
	plan.log(pl.log)
	return newSandbox(pl.bwrap, child, plan)
}

// prepare rewrites cmd into the command that runs child with p's rights.
func (pl *platform) prepare(cmd, child *exec.Cmd, p Profile) error {
	if p.Confine && !pl.cfg.Enabled {
		return &ProfileError{Profile: p.Name, Problem: "is confined by the thread that starts it and cannot be prepared", Cure: "use Start"}
	}
	if pl.cfg.Enabled {
		s, err := pl.sandbox(child, p)
		if err != nil {
			return err
		}
		s.status.Close()
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
