// Package isolation starts processes in a sandbox.
//
// It is the kernel wall of a host that runs programs it does not trust: a
// caller describes what one child may see and do (a [Profile]), and the child
// runs with exactly that. There is one way in:
//
//	iso, err := isolation.Configure(isolation.Config{Enabled: true, Home: home}, log)
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
