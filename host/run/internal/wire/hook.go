package wire

// HookSocket is where a program's hooks reach its supervisor, and HookVariable names it to them.
const (
	HookSocket   = "/tmp/.picoclaw-hook"
	HookVariable = "PICOCLAW_HOOK_SOCKET"
)
