package isolation

import "cmp"

// Groups says what there is of control groups: a child's job does the same.
func (i *Isolation) Groups() Groups {
	if !i.cfg.Groups {
		return Groups{Cause: "nobody asked for them"}
	}
	return Groups{Bounds: []string{"processes", "memory"}, Kill: true}
}

// jobBounds are what a child's job bounds: its own limits, or else those of the group that the job stands for.
func (p Profile) jobBounds() Limits {
	l := p.Limits
	l.Processes = cmp.Or(l.Processes, p.Group.Processes)
	l.Memory = cmp.Or(l.Memory, p.Group.Memory)
	return l
}
