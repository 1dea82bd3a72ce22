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

// Hierarchies is the set of cgroup hierarchies in which this process creates groups. It is safe for concurrent use.
type Hierarchies struct {
	hierarchies []*hierarchy
	providers   map[string]*hierarchy // the hierarchy that provides each controller
	missing     []*UnavailableReason
	groupCount  atomic.Uint64
	closeOnce   sync.Once
}

// OpenHierarchies finds and prepares the hierarchies in which this process may create groups. If there are none, the
// error is an *UnavailableReason, or several joined.
func OpenHierarchies() (*Hierarchies, error) {
	all, err := readHierarchies()
	if err != nil {
		return nil, &UnavailableReason{Cause: "the control groups of this machine can't be found: " + err.Error(), Never: true}
	}
	return prepareHierarchies(all)
}

// readHierarchies reads the hierarchies of this machine from /proc.
func readHierarchies() ([]*hierarchy, error) {
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
	return matchHierarchies(parseMemberships(member), parseMounts(mount)), nil
}

// prepareHierarchies creates the base directories in the given hierarchies, and notes missing controllers.
func prepareHierarchies(all []*hierarchy) (*Hierarchies, error) {
	p := &Hierarchies{providers: map[string]*hierarchy{}}
	var problems []error
	slices.SortFunc(all, func(a, b *hierarchy) int { return b.version - a.version }) // v2 first
	for _, h := range all {
		if err := p.prepareHierarchy(h); err != nil {
			problems = append([]error{err}, problems...) // a v1 hierarchy tried here has the limits that v2 lacks
		}
	}
	if len(all) == 0 {
		problems = append(problems, &UnavailableReason{Cause: "no control groups are mounted that this process is in",
			Cure: "mount them: `mount -t cgroup2 none /sys/fs/cgroup` as root", Never: true})
	}
	if len(p.hierarchies) == 0 {
		return nil, errors.Join(problems...)
	}
	for _, c := range usedControllers {
		if p.providers[c] == nil {
			p.missing = append(p.missing, explainMissingController(c, all, problems))
		}
	}
	return p, nil
}

// prepareHierarchy prepares a hierarchy if it provides a controller that no earlier hierarchy provides.
func (p *Hierarchies) prepareHierarchy(h *hierarchy) (err error) {
	if h.version == 1 && !slices.ContainsFunc(h.controllers, func(c string) bool {
		return slices.Contains(usedControllers, c) && p.providers[c] == nil
	}) {
		return nil
	}
	if err = h.checkWritable(); err != nil {
		return h.newUnavailableReason(err)
	}
	if h.base, err = createBaseDir(h.ownGroup); err != nil {
		return h.newUnavailableReason(err)
	}
	provided := h.controllers
	if h.version == 2 {
		provided, err = h.delegateControllers()
	}
	for _, c := range provided {
		if slices.Contains(usedControllers, c) && p.providers[c] == nil {
			p.providers[c] = h
		}
	}
	p.hierarchies = append(p.hierarchies, h)
	if h.version == 1 && p.providers[Processor] == h {
		if err = writeControlFile(filepath.Join(h.base.path, "cpu.shares"), totalCPUShares()); err != nil {
			delete(p.providers, Processor)
			return h.newUnavailableReason(err)
		}
	}
	if err != nil {
		return h.newUnavailableReason(err)
	}
	return nil
}

// Controllers returns the controllers that can limit groups.
func (p *Hierarchies) Controllers() []string {
	return slices.DeleteFunc(slices.Clone(usedControllers), func(c string) bool { return p.providers[c] == nil })
}

// CanKillGroup reports whether the kernel can kill all processes of a group in one step.
func (p *Hierarchies) CanKillGroup() bool {
	return slices.ContainsFunc(p.hierarchies, func(h *hierarchy) bool {
		return h.version == 2 && unix.Access(filepath.Join(h.base.path, "cgroup.kill"), unix.W_OK) == nil
	})
}

// MissingControllerReasons returns the reason for each controller that can't limit groups.
func (p *Hierarchies) MissingControllerReasons() []*UnavailableReason { return p.missing }

// Close kills the processes in all groups, and removes the groups.
func (p *Hierarchies) Close() {
	p.closeOnce.Do(func() {
		for _, dir := range p.GroupDirs() {
			killAndRemoveGroup(dir)
		}
		for _, h := range p.hierarchies {
			h.undoDelegation()
			if isInsideBase(h.base.path) {
				continue // another place of this process is inside; the lock stays until the process ends
			}
			killAndRemoveTree(h.base.path)
			_ = h.base.lock.Close()
		}
	})
}

// GroupDirs returns the directories of all existing groups.
func (p *Hierarchies) GroupDirs() []string {
	var dirs []string
	for _, h := range p.hierarchies {
		for _, entry := range listGroups(h.base.path) {
			if entry != leafGroup {
				dirs = append(dirs, filepath.Join(h.base.path, entry))
			}
		}
	}
	return dirs
}
