// Package hooks runs an operator's own programs (hooks) when an agent calls a tool, sends a prompt, starts or ends a
// session, or ends a turn.
//
// There are two kinds of hooks, both behind the interface hookRunner. Command hooks have the form of Claude Code's
// settings: each event runs a command, which reads JSON from standard input and responds by exit status and JSON, so
// existing hooks work unchanged. Process hooks are long-running programs that exchange JSON-RPC messages, one per
// line.
//
// Hooks can only restrict. They run after the policy has allowed a call; a hook that responds "allow" changes nothing
// and does not replace a person's approval. The caller checks arguments that a hook changed against the policy again.
//
// If a hook that may refuse a call crashes, hangs, is missing or writes an unreadable response, the call is refused.
// The refusal names the hook, the failure, and the setting that changes this (hooks.on_error).
//
// The session starts hooks in the sandbox with grants of their own; they see the workspace read-only unless
// configured otherwise.
//
// The package must not know what a tool does, how calls are decided, or where its options came from. The names of
// Claude's tools are data in names.go.
package hooks
