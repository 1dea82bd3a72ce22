// Package isolation starts untrusted processes in a sandbox. A [Profile] describes what a child may see and do:
//
//	iso, err := isolation.NewStarter(isolation.Config{Enabled: true, Home: home}, log)
//	proc, err := iso.Start(cmd, profile)
//	exit, err := proc.Wait(ctx)
//
// With Enabled, a child on Linux has its own namespaces, made by bubblewrap, with the profile's paths only, no
// capabilities and a system call filter. With Confine, Landlock, no_new_privs, the filter and resource limits confine
// it; they need nothing installed. Both can be combined. A missing protection is a typed error ([Unavailable]), not a
// weaker sandbox. A child gets only the environment and descriptors that its command names.
//
// Landlock in a sandbox comes after bubblewrap, since confined processes may not mount, and before the program. A
// small program in machine code applies it, because any larger one would be slower than all other layers together. The
// filter can't inspect memory, so openat2 and clone3 fail as on older kernels. The process that starts commands
// applies their filter to itself once, and commands inherit it.
//
// A profile can name the few programs that a child may run. Landlock then also allows their dynamic linker and the
// system's libraries, but no reading of other programs: the linker runs any program that it can read.
//
// The process tree of a child ends with the child and with this process. A thread in the child's Landlock domain
// signals the whole domain with one kill(-1), so detached processes end too.
//
// Rlimits and a watch over the tree limit commands on every machine; cgroups are added where possible, after the start.
// A file stores whether sandboxes work here, until the kernel, bubblewrap or the program changes.
//
// Only profiles and the operator's configuration add mounts; commands and agents can't. Windows uses a restricted
// token, low integrity and a job object. On other systems, children start without a sandbox, and Enabled is an error.
package isolation
