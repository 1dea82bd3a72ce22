package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Place is where this process makes groups. It may be used concurrently.
type Place struct {
	used    []*hierarchy
	bounds  map[string]*hierarchy // by controller: who keeps it
	missing []*Problem
	made    atomic.Uint64
	close   sync.Once
}

// Open finds where this process may make groups and prepares that. The error is a *Problem, or several joined, if there
// is nowhere.
func Open() (*Place, error) {
	found, err := machine()
	if err != nil {
		return nil, &Problem{Cause: "the control groups of this machine can't be found: " + err.Error(), Never: true}
	}
	return open(found)
}

// machine finds the hierarchies of this machine.
func machine() ([]*hierarchy, error) {
	member, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	defer member.Close()
	mount, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer mount.Close()
	return hierarchies(memberships(member), mounts(mount)), nil
}

func open(found []*hierarchy) (*Place, error) {
	p := &Place{bounds: map[string]*hierarchy{}}
	var problems []error
	slices.SortFunc(found, func(a, b *hierarchy) int { return b.version - a.version }) // the newer one first
	for _, h := range found {
		if err := p.use(h); err != nil {
			problems = append([]error{err}, problems...) // version 1, where it has to be asked, is what has the limits
		}
	}
	if len(found) == 0 {
		problems = append(problems, &Problem{Cause: "no control groups are mounted that this process is in",
			Cure: "mount them: `mount -t cgroup2 none /sys/fs/cgroup` as root", Never: true})
	}
	if len(p.used) == 0 {
		return nil, errors.Join(problems...)
	}
	for _, c := range controllers {
		if p.bounds[c] == nil {
			p.missing = append(p.missing, lacks(c, found, problems))
		}
	}
	return p, nil
}

// use prepares a hierarchy, if there is something in it that is not there yet.
func (p *Place) use(h *hierarchy) (err error) {
	if h.version == 1 && !slices.ContainsFunc(h.controllers, func(c string) bool {
		return slices.Contains(controllers, c) && p.bounds[c] == nil
	}) {
		return nil
	}
	if err := h.writable(); err != nil {
		return h.refused(err)
	}
	if h.base, err = newBase(h.own); err != nil {
		return h.refused(err)
	}
	bounds := h.controllers
	if h.version == 2 {
		bounds, err = h.delegate()
	}
	for _, c := range bounds {
		if slices.Contains(controllers, c) && p.bounds[c] == nil {
			p.bounds[c] = h
		}
	}
	p.used = append(p.used, h)
	if h.version == 1 && p.bounds[Processor] == h {
		if err := write(filepath.Join(h.base.dir, "cpu.shares"), baseShares()); err != nil {
			delete(p.bounds, Processor)
			return h.refused(err)
		}
	}
	if err != nil {
		return h.refused(err)
	}
	return nil
}

// Bounds are the controllers that groups made here have.
func (p *Place) Bounds() []string {
	return slices.DeleteFunc(slices.Clone(controllers), func(c string) bool { return p.bounds[c] == nil })
}

// Kills reports whether the kernel ends all of a group in one step.
func (p *Place) Kills() bool {
	return slices.ContainsFunc(p.used, func(h *hierarchy) bool {
		return h.version == 2 && unix.Access(filepath.Join(h.base.dir, "cgroup.kill"), unix.W_OK) == nil
	})
}

// Missing says of the controllers that groups made here do not have why not.
func (p *Place) Missing() []*Problem { return p.missing }

// Close ends what runs in the groups that were made here, and removes them.
func (p *Place) Close() {
	p.close.Do(func() {
		for _, dir := range p.Groups() {
			remove(dir)
		}
		for _, h := range p.used {
			h.restore()
			if within(h.base.dir) {
				continue // another place of this process is in it; the lock keeps it until the process ends
			}
			removeTree(h.base.dir)
			_ = h.base.lock.Close()
		}
	})
}

// Groups are the directories of the groups that were made here and not removed.
func (p *Place) Groups() []string {
	var dirs []string
	for _, h := range p.used {
		for _, entry := range entries(h.base.dir) {
			if entry != leaf {
				dirs = append(dirs, filepath.Join(h.base.dir, entry))
			}
		}
	}
	return dirs
}
