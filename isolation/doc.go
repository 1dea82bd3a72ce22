// Package isolation starts processes in a sandbox.
//
// It is the kernel wall of a host that runs programs it does not trust: a
// caller describes what one child may see and do (a [Profile]), and the child
// runs with exactly that. There is one way in:
//
//	iso, err := isolation.NewStarter(isolation.Config{Enabled: true, Home: home}, log)
//	proc, err := iso.Start(cmd, profile)
//	exit, err := proc.Wait(ctx)
//
// # What it holds
//
// With Enabled, a child on Linux lives in its own user, pid, ipc, uts, cgroup
// and (unless the profile grants the network) network namespace, made by
// bubblewrap, with every capability dropped, further user namespaces switched
// off, a system-call filter, and a mount view that holds the profile's paths
// and nothing else. With Confine, a child is confined by what the kernel
// offers without anything installed: Landlock, no_new_privs, the system-call
// filter and resource limits. Both can be used together, and neither stands in for the
// other: what was asked for and cannot be had is a typed error
// ([Unavailable]), never a weaker sandbox.
//
// In every mode a child gets the environment and the descriptors that its
// command names and no others, and its whole process tree ends with it: when
// it exits, when it is stopped, and when this process dies by any signal.
//
// # How a child is confined
//
// Landlock in a sandbox has to come after bubblewrap and before the program, since nobody who is confined may mount. A
// small program does it that this package writes in machine code for each start: starting anything larger there would
// cost more than all other layers together.
//
// The filter of system calls refuses what it can't see. Openat2 and clone3 are asked for things in memory, so they do
// not exist; programs know what to do without them. The process that starts commands puts itself behind their filter
// once, and commands inherit it.
//
// A profile can name the few programs that a child may run. Landlock then lets it run these and their dynamic linker,
// and read the system's libraries but not its other programs, because the linker runs what it can read.
//
// # How a child ends
//
// Every confined child is a Landlock domain, which nothing it starts can leave, and a thread of ours inside it can
// signal that domain alone. One kill(-1) ends all of it. It needs no helper process and no namespace, and can't be
// escaped by detaching.
//
// # Limits
//
// A command is bounded by rlimits and by a watch over its tree. They hold on every machine; control groups can be made
// on few, and not by a process that is itself confined. Where groups can be had each instance gets one, behind the
// watch. A start does not wait for that: to move a process the kernel stops the start of all others for some
// milliseconds.
//
// What a start finds out, the next one does not find out again while the kernel, bubblewrap and the program are the
// same: that a sandbox can be built here is kept in a file. Nothing is granted by it.
//
// # What it must not know
//
// Tools, agents, plugins, configuration files and policies. It takes paths and
// switches. Nothing in a command's text, in its arguments or in an agent's
// input ever adds a mount: only the profile and the operator's configuration
// do.
//
// # Platforms
//
// Linux is complete. Windows uses a restricted token, low integrity and a job
// object. Elsewhere children start plainly, and enabling isolation is an
// error that says so.
package isolation
