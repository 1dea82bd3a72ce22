package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group is a control group: a directory in each hierarchy that is used. It may be used concurrently.
type Group struct {
	place *Place
	parts []part

	processor processor // the place's mutex guards it

	mu      sync.Mutex
	removed bool
}

type part struct {
	version int
	dir     string
}

// New makes a group. The name is for who looks at the machine's groups; it need not be another one each time.
func (p *Place) New(name string, l Limits) (*Group, error) {
	name = plain(name) + "-" + strconv.FormatUint(p.made.Add(1), 10)
	g := &Group{place: p, processor: p.processorOf(name)}
	for _, h := range p.used {
		dir := filepath.Join(h.base.dir, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			g.parts = append(g.parts, part{h.version, dir})
			err = p.turnAll(h, dir, l)
		}
		if err != nil {
			g.Remove()
			return nil, fmt.Errorf("make the control group %s: %w", dir, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[g] = struct{}{}
	return g, nil
}

func (p *Place) turnAll(h *hierarchy, dir string, l Limits) error {
	for controller, keeper := range p.bounds {
		if keeper != h {
			continue
		}
		if err := turn(dir, knobs(h.version, controller, l)); err != nil {
			return err
		}
	}
	return nil
}

// plain leaves of a name what is harmless in a path.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// Birth has a child that is started with attr born into the group, as far as it is one of version 2, and reports
// whether that is so. The caller calls done when the child was started, or could not be.
func (g *Group) Birth(attr *syscall.SysProcAttr) (done func(), ok bool) {
	for _, part := range g.parts {
		if part.version != 2 {
			continue
		}
		fd, err := os.Open(part.dir)
		if err != nil {
			return nil, false
		}
		attr.UseCgroupFD, attr.CgroupFD = true, int(fd.Fd())
		return func() { _ = fd.Close() }, true
	}
	return nil, false
}

// Take moves processes to the group with all their threads. What they start from then on is born in it. members lists
// those that belong in it; it is asked until nobody is found outside, since they may start others meanwhile. Where
// somebody is always found, the error says so.
func (g *Group) Take(members func() []int) error {
	for try := 0; try < takeTries; try++ {
		outside := g.outside(members())
		if len(outside) == 0 {
			return nil
		}
		for _, pid := range outside {
			if pid == os.Getpid() {
				return errors.New("move processes to a control group: this process is not to be one of them")
			}
			if err := g.take(pid); err != nil {
				return err
			}
		}
	}
	return errors.New("move processes to a control group: they multiply faster than they can be moved")
}

// takeTries bounds how often members are looked for outside.
const takeTries = 100

// outside returns those of pids that are not in all parts of the group.
func (g *Group) outside(pids []int) []int {
	in := map[int]int{}
	for _, part := range g.parts {
		for _, pid := range processes(part.dir) {
			in[pid]++
		}
	}
	var found []int
	for _, pid := range pids {
		if in[pid] < len(g.parts) && !gone(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// gone reports whether a process has ended; one that was not waited for stays where it was.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	after := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return len(after) > 1 && (after[1] == 'Z' || after[1] == 'X')
}

// take moves one process. That it has ended is not an error.
func (g *Group) take(pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return nil
	}
	for _, part := range g.parts {
		if err := join(part.dir, pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move process %d to the control group %s: %w", pid, part.dir, err)
		}
	}
	return nil
}

// Kill ends everybody in the group.
func (g *Group) Kill() {
	for _, part := range g.parts {
		killAll(part.dir)
	}
}

// Remove ends who is left in the group and removes it.
func (g *Group) Remove() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return
	}
	g.removed = true
	g.place.mu.Lock()
	delete(g.place.live, g)
	g.place.mu.Unlock()
	for _, part := range g.parts {
		remove(part.dir)
	}
}
