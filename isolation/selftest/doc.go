// Package selftest attacks a sandbox from inside, to know what holds on this machine and not only what was asked for.
//
// [Check] starts a command in a real sandbox, the way that package isolation starts any other. The command calls
// [Attack], which tries a handful of ways out and reports how each ended. What came of it is a [Report]. It is kept in
// a file, and found out again when the kernel, the sandbox's tools or the command are other ones.
//
// It must not know what runs in sandboxes otherwise, nor which policy they have.
package selftest
