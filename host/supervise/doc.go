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
package supervise
