package wire

// HookSocket is the path of the supervisor's socket for hooks. HookVariable is the variable with this path.
const (
	HookSocket   = "/tmp/.picoclaw-hook"
	HookVariable = "PICOCLAW_HOOK_SOCKET"
)

// TurnEnded is the JSON that a hook sends in place of a question when the client's turn has ended. The supervisor
// answers when the burst of changes has ended.
const TurnEnded = `"turn ended"`
