// Package guard decides whether a path or a command is allowed, from a policy value.
//
// It is the first of picoclaw's three layers. A refusal names the deciding rule and the setting that would lift it. The
// only I/O of a decision is resolving symlinks. An allowed access still passes the second layer (package workspace, which
// is safe against races) and the third (the kernel).
//
// The host decides before it makes a call, and a plugin may decide again. Other programs can use the package alone. So it
// must not know of hosts, plugins, agents or the wire.
//
// Whitelist patterns are searched, not anchored at the end: ^/a/b opens /a/bc as well. They are matched against paths
// with their symbolic links resolved, so a link can neither open nor be opened.
//
// The guard decides on literal parts of a command. Computed parts are left to the kernel if it confines commands
// ([Policy].Kernel), and are [Ask] otherwise.
//
// [Guard.DecideCommand] interprets a command as its shell would, without running anything. It applies the rules to each
// simple command with expanded words, and [Guard.DecidePath] to each path of the shell or the program. The strictest
// finding counts.
//
//	internal/shell     interprets the shell language
//	internal/programs  knows the meaning of program arguments: paths, data, code, started commands
//	internal/getopt    splits arguments into options and operands
//	internal/rules     contains the rules for refused commands
//	internal/inline    finds calls in other languages that start commands or access files
//	internal/windows   splits commands of cmd.exe and PowerShell
//
// Rules, program arguments and calls of other languages are data: JSON files in the data directories of these packages.
//
// A refusal is final. Allow means that the text shows nothing that the policy refuses. It promises nothing about scripts
// and compiled programs that the command starts.
package guard
