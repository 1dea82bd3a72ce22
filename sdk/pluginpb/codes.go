package pluginpb

// The codes of errors that programs tell apart. A tool may use others of its own.
const (
	CodeInvalidArgument = "invalid_argument" // the call has to be made differently
	CodeUnknownTool     = "unknown_tool"     // there is no such tool, or not for this agent
	CodeNotFound        = "not_found"        // what was named does not exist
	CodeAccessDenied    = "access_denied"    // the policy or the operating system refused
	CodeConflict        = "conflict"         // what was named is not in the state that the call expects
	CodeTooLarge        = "too_large"        // over a limit
	CodeTimeout         = "timeout"          // out of time
	CodeCancelled       = "cancelled"        // the caller gave up
	CodeNobodyToAsk     = "nobody_to_ask"    // there is no person to put a question to
	CodeFailed          = "failed"           // anything else
	CodePanic           = "panic"            // the tool's code crashed; its plugin goes on
	CodeUnavailable     = "unavailable"      // the plugin could not be started, or ended during the call
)
