// Package supervise runs plugin processes and makes calls to their tools.
//
// An instance is one running plugin process. Each [Spec] has one instance, which starts at the first call, is shared
// by all equal specs, and is replaced after it has died. The package adds to hashicorp/go-plugin: a deadline for
// every start, health check and stop; prompt notice of a process's end even while a descendant holds its pipes; a
// clean standard input and environment; a check that an address printed by a plugin is a socket in the plugin's own
// directory; authentication by a key of the instance; and removal of processes and socket directories that a killed
// host left behind.
//
// hashicorp/go-plugin starts a plugin through a runner of this package. The environment contains only what the
// plugin's grants name. Standard input carries the credentials (see package pluginpb) and closes when the host ends;
// the SDK then ends the plugin and its descendants. Outside a sandbox the plugin also gets SIGTERM instead of
// SIGKILL, because only the plugin can find detached descendants.
//
// The host executes the bytes that it verified: it copies an installed plugin once per host and hashes the bytes as
// it writes them. It does not hash plugins that come with picoclaw, since anybody who can change them can change
// picoclaw.
//
// A running plugin must describe itself like its manifest. The host stores the digest of a binary that passed this
// check, and later hosts skip it.
//
// A stream carries one call after another. Opening a stream costs as much as a small call, so the host keeps a stream
// that delivered its result. A plugin without support for this gets one stream per call.
//
// The host stops an instance after a long time without calls, and stops the least recently called one when its owner
// has reached the maximum. It first asks an instance that may run commands whether any run in the background. A
// plugin in a sandbox is killed with the sandbox after it has confirmed Drain. Without a sandbox it gets time to end,
// since only the plugin knows all its descendants.
//
// The host never repeats a call after a crash, because its effects are unknown. After three crashes within five
// minutes no host of this home starts the plugin again. Crashes are counted by the plugin's digest and the instance's
// rights, so another version starts afresh, and an agent that makes a plugin crash loses it only for itself.
package supervise
