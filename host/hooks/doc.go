// Package hooks asks an operator's own programs about what an agent does: before a call and after it, about a prompt,
// when a session begins and ends, and when a turn is to end.
//
// There are two kinds. [Options] have hooks in the form of Claude Code's settings: a command a question, which reads
// JSON from its standard input and answers by exit status and JSON, so that hooks that people have work as they are.
// And they have processes, which live on and are asked in JSON-RPC, a message a line. Behind both stands one interface,
// asker.
//
// Hooks can only take away. They are asked after the policy has allowed a call; a hook that says "allow" says nothing,
// and answers no question that a person is to answer. Arguments that a hook has changed are decided on anew by whoever
// makes the call.
//
// A hook that could refuse and gives no answer refuses: one that crashes, hangs, is missing or answers with what can't
// be read. The refusal says which hook, what happened, and the setting that changes it (hooks.on_error).
//
// Hooks are started through isolation by the session that they are asked for, with grants of their own, and see the
// workspace read-only unless told otherwise.
//
// The package must not know what a tool does, how calls are decided on, nor where its options were read. The names of
// Claude's tools are data in names.go.
package hooks
