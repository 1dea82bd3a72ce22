package wire

// HookSocket is the path of the supervisor's socket for hooks. HookVariable is the variable with this path.
const (
	HookSocket   = "/tmp/.picoclaw-hook"
	HookVariable = "PICOCLAW_HOOK_SOCKET"
)
