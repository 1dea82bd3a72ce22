package cgroup

import (
	"path/filepath"
	"strconv"
	"time"
)

// account is version 1's controller that says how much processor time a group has used. In version 2 every group does.
const account = "cpuacct"

// What a group uses of one processor's time before it gives way, and what it uses for how many looks before it no
// longer does. One that starves uses little as well, so it has its weight again every now and then.
const (
	greedy = 0.5
	modest = 0.1
	looks  = 10
)

// processor is what a group takes of the processors.
type processor struct {
	dir    string // where its weight is; empty if nobody keeps that
	usage  string // the file that says what it has used
	used   time.Duration
	at     time.Time
	yields int // for how many more looks it gives way
}

// processorOf finds the files of a new group that is about processors.
func (p *Place) processorOf(name string) (of processor) {
	keeper := p.bounds[Processor]
	if keeper == nil {
		return of
	}
	of.dir = filepath.Join(keeper.base.dir, name)
	if keeper.version == 2 {
		of.usage = filepath.Join(of.dir, "cpu.stat")
	} else if counts := p.bounds[account]; counts != nil {
		of.usage = filepath.Join(counts.base.dir, name, "cpuacct.usage")
	}
	return of
}

// Balance has the groups give way to all others here that have taken much of the processors since the last time: they
// run when nobody else wants to, and whoever wants to is not waited for until their turn is over. The kernel does that
// from version 5.15 on.
func (p *Place) Balance() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for g := range p.live {
		c := &g.processor
		used, ok := usedBy(c.usage)
		if !ok {
			continue
		}
		now := time.Now()
		share := float64(used-c.used) / float64(max(now.Sub(c.at), 1))
		first, yields := c.at.IsZero(), max(c.yields-1, 0)
		c.used, c.at = used, now
		if !first && share > greedy || yields > 0 && share > modest {
			yields = looks
		}
		if value := strconv.Itoa(min(yields, 1)); min(c.yields, 1) == min(yields, 1) ||
			write(filepath.Join(c.dir, "cpu.idle"), value) == nil {
			c.yields = yields
		}
	}
}

// usedBy reads what a group has used: nanoseconds in version 1, and microseconds behind a word in version 2.
func usedBy(file string) (time.Duration, bool) {
	said := words(file)
	unit := time.Nanosecond
	if len(said) > 1 && said[0] == "usage_usec" {
		said, unit = said[1:2], time.Microsecond
	}
	if len(said) != 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(said[0], 10, 64)
	return time.Duration(n) * unit, err == nil
}

// rootShares is how much all groups and this process count together in version 1, where a process beside them counts
// 1024: as much as eight.
const rootShares = "8192"

// settle has this process be one among its groups in version 1, as it is in version 2. It is none of those who have to
// wait for one of them then, nor are they for the processes beside.
func (h *hierarchy) settle() error {
	if err := write(filepath.Join(h.base.dir, "cpu.shares"), rootShares); err != nil {
		return err
	}
	return h.occupy()
}
