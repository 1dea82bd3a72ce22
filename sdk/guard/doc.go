// Package guard decides whether a path or a command is allowed, from a policy value.
//
// It is the first of picoclaw's three walls: it gives the clear refusal, names the rule that refused and the
// setting that would lift it. Its decisions are pure: the only I/O it does is resolving the symbolic links of the
// path that it was asked about. What it allows is still done through the second wall (package workspace, which
// no race can fool) and inside the third (the kernel).
//
// The host asks it before a call leaves the host; a plugin may ask it again; a program that has nothing to do with
// picoclaw can use it by itself. So it must not know of hosts, plugins, agents or the wire.
package guard
