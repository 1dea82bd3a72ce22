// Package cgroup makes control groups: the kernel's own bound on what a process and all its descendants use together,
// and the certain end of all of them.
//
// [Open] finds where this process may make groups, in cgroup v2 and in the hierarchies of v1, and makes a directory of
// its own there, which is locked while it lives; what killed processes left is removed on the way. [Place.New] makes
// one group. Nothing here can be had on every machine, so whoever asks has to go on without; [Place.Missing] and the
// [Problem] that Open returns say what is missing, why, and what would change that.
//
// It must not know what runs in a group, nor what else bounds it.
package cgroup

// Limits bound what all processes of a group use together. A zero is no limit.
type Limits struct {
	Processes int   // processes and threads
	Memory    int64 // bytes
	// Weight is the group's share of the processors when others want them too, from 1 to 10000; who has not said
	// anything has 100.
	Weight int
}
