// Package guard decides whether a path or a command is allowed, from a policy value.
//
// It is the first of picoclaw's three walls: it gives the clear refusal, names the rule that refused and the setting
// that would lift it. Its decisions are pure: the only I/O it does is resolving the symbolic links of the paths that it
// was asked about. What it allows is still done through the second wall (package workspace, which no race can fool) and
// inside the third (the kernel).
//
// The host asks it before a call leaves the host; a plugin may ask it again; a program that has nothing to do with
// picoclaw can use it by itself. So it must not know of hosts, plugins, agents or the wire.
//
// # Paths
//
// Whitelist patterns are searched, not anchored at the end: ^/a/b opens /a/bc as well. They are matched against paths
// with their symbolic links resolved, so a link can neither open nor be opened.
//
// # Commands
//
// The contract, in one line: the guard decides on what stands literally in a command; what is computed is left to the
// kernel where the kernel holds ([Policy].Kernel), and is [Ask] where it does not.
//
// [Guard.Command] follows a command as its shell would, without running anything. Each simple command that it finds,
// with its words as the program would get them, goes through the rules; each path that the shell or the program would
// touch goes through [Guard.Path]. The strictest finding is the answer.
//
//	internal/shell     follows the shell's language and tells what it would do
//	internal/programs  knows what the arguments of programs are for: paths, data, code, commands to start
//	internal/getopt    takes arguments apart
//	internal/rules     which commands are refused
//	internal/inline    finds the calls in code of other languages that start commands or touch files
//	internal/windows   splits commands of cmd.exe and PowerShell
//
// What programs' arguments mean, the rules, and the calls of other languages are data: the JSON files in these rooms'
// data directories. To refuse a command is one entry of rules/data, to follow a program one line of programs/data.
//
// # What a decision is worth
//
// A refusal is final: the guard never runs anything to find out more. That something is allowed means that its text
// shows nothing that the policy refuses. It is no promise about scripts and compiled programs that it starts.
package guard
