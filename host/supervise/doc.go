// Package supervise runs plugin processes and carries calls to them.
//
// An instance is one running plugin process; there is one for each [Spec], started at its first call, shared by all
// whose spec is the same, and replaced by a new one after it has died. The package covers what hashicorp/go-plugin
// leaves open: every start, health check and stop has a deadline; the end of a process is seen even while a
// grandchild holds its pipes; the process does not inherit the host's standard input or environment; an address that
// a plugin prints is only dialled if it is a socket in the directory made for it; only the holder of the instance's
// key can talk to it; and a host that is killed leaves neither processes nor, after the next start, socket
// directories behind.
//
// It must not know of agents, tools' meaning or decisions: it is handed what a process may do and does not ask why.
//
// # Starting
//
// A plugin is started by hashicorp/go-plugin through a runner of this package. Its environment holds what grants name
// and nothing else. Its standard input carries the credentials (see package pluginpb) and ends when the host does; the
// SDK then ends the plugin and what it has started. Without a sandbox it is sent SIGTERM besides, not SIGKILL, because
// only the plugin can find what its commands have detached.
//
// What was checked is what runs: of an installed plugin the host makes a copy of its own and hashes the bytes as it
// writes them, once for its life. Plugins that come with picoclaw are not hashed: whoever can change them can change
// picoclaw.
//
// A running plugin must say of itself what its manifest says. That it did is noted by the binary's digest, so the next
// host does not ask again. Nothing is granted by such a note.
//
// # Calls
//
// A stream carries one call after another. Opening and ending a stream costs as much as a small call, so one that
// brought its result is kept. A plugin that does not serve such streams gets one for each call.
//
// # Ending
//
// An instance that nobody has called for long is stopped, and so is the one that was not called for longest when its
// owner has as many as it may. One that may run commands is asked first whether it has some in the background. A plugin
// in a sandbox is killed with it once it has answered that there are no more calls. Without one it is asked to end,
// since it alone knows all that it has started.
//
// A call is never made again after a crash: nobody knows how far it got. A plugin that crashes three times within five
// minutes is not started any more, by any host of this home. The count is kept by the plugin's digest and the
// instance's rights: another version starts afresh, and an agent that makes a plugin crash loses it for itself alone.
package supervise
