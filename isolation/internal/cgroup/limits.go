package cgroup

// Limits bound what all processes of a group use together. A zero is no limit.
type Limits struct {
	Processes int   // processes and threads
	Memory    int64 // bytes
	// Weight is the group's share of the processors when others want them too, from 1 to 10000; who has not said
	// anything has 100. Version 1 does not keep it: there, each process of its root counts as much as the group.
	Weight int
}
