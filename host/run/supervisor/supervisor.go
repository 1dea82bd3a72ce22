// Package supervisor is the process of a run inside the sandbox. It creates the terminal, starts the program with the
// rights of its policy, checks its changes to protected files, and records its changes for undo.
//
// It must not decide about the program's rights: the host decides, and the sandbox enforces the decision.
package supervisor

// Command is the hidden command of picoclaw that calls Main or, with arguments, RunInit.
const Command = "run-supervisor"
