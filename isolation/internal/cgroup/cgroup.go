// Package cgroup creates control groups, which limit the resources of a process and its descendants together, and
// kill them all.
//
// [OpenHierarchies] finds where this process may create groups, in cgroup v2 and in the v1 hierarchies. It creates and
// locks a directory there, and removes the groups of processes that have ended. [Hierarchies.NewGroup] creates a group.
// Not every machine has control groups: callers must work without them. [Hierarchies.MissingControllerReasons] and the
// [UnavailableReason] that OpenHierarchies returns give the reason and the remedy.
//
// The package must not know which programs run in a group, nor their other limits.
package cgroup

// GroupLimits are the resource limits of all processes in a group together. Zero means no limit.
type GroupLimits struct {
	Processes int   // processes and threads
	Memory    int64 // bytes
	// Weight is the group's share of busy processors, from 1 to 10000. The kernel's default is 100.
	Weight int
}
