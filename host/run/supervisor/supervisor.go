// Package supervisor is the process of a run inside the sandbox. It makes the terminal, starts the program with the rights of
// its policy, checks its changes to protected files and records them for undo.
//
// It must not decide what the program may do: the host does that, and the sandbox enforces it.
package supervisor

// InitCommand is the argument with which picoclaw is the parent of the program on its terminal.
const InitCommand = "run-init"
