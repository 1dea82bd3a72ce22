package guard

// Policy lists the allowed paths and commands as plain data, sent from the host to plugins. [NewGuard] compiles it.
type Policy struct {
	// Workspace is the directory that the agent works in: absolute, symbolic links resolved.
	// Relative paths are resolved against it.
	Workspace string `json:"workspace"`

	// WorkspaceName is the absolute path through symbolic links by which the workspace was configured; empty for one
	// without. Paths below it are paths of the workspace.
	WorkspaceName string `json:"workspace_name,omitempty"`

	// Restrict confines paths to the workspace and the whitelists below. When it is false every path is allowed;
	// the command rules stay.
	Restrict bool `json:"restrict_to_workspace"`

	// AllowReadOutside allows reading and listing anywhere although Restrict is set.
	AllowReadOutside bool `json:"allow_read_outside_workspace"`

	// AllowReadPaths and AllowWritePaths are regular expressions (RE2) that are matched against absolute paths
	// with their symbolic links resolved. They are searched, not anchored: `^/a/b` also matches /a/bc.
	// AllowWritePaths opens writing, not reading.
	AllowReadPaths  []string `json:"allow_read_paths,omitempty"`
	AllowWritePaths []string `json:"allow_write_paths,omitempty"`

	// Paths, when not empty, narrows everything above to these directories and what is below them
	// (the filesystem module's `paths` constraint; templates already filled in).
	Paths []string `json:"paths,omitempty"`

	// Protected are absolute paths that nothing above opens, with everything below them: where the policy itself is kept,
	// and what else an agent must not touch. What lies in the workspace or below one of Unprotected is not protected.
	// They count while Restrict is set.
	Protected   []string `json:"protected,omitempty"`
	Unprotected []string `json:"unprotected,omitempty"`

	// WorkspaceDeny and WorkspaceAsk are paths inside the workspace that are not changed for the agent, or only if a
	// person says so (`workspace.protect`): relative to the top of the workspace and of each repository in it.
	WorkspaceDeny []string `json:"workspace_deny,omitempty"`
	WorkspaceAsk  []string `json:"workspace_ask,omitempty"`

	// MaxFileSize is the largest file, in bytes, that may be read or written; 0 is no limit.
	MaxFileSize int64 `json:"max_file_size,omitempty"`

	// Kernel reports whether the kernel confines what commands do: by Landlock or by the mount view. What a command
	// computes while it runs is then left to the kernel; otherwise a person is asked.
	Kernel bool `json:"kernel,omitempty"`

	// Exec holds the rules for commands.
	Exec ExecPolicy `json:"exec"`
}

// ExecPolicy holds the rules for commands.
type ExecPolicy struct {
	// DenyPatterns switches the built-in rules on (`enable_deny_patterns`).
	DenyPatterns bool `json:"enable_deny_patterns"`

	// CustomDeny holds regular expressions that refuse a command whatever else allows it.
	CustomDeny []string `json:"custom_deny_patterns,omitempty"`

	// CustomAllow holds regular expressions that lift a soft built-in rule for the one simple command that they
	// match from end to end.
	CustomAllow []string `json:"custom_allow_patterns,omitempty"`

	// Rules are the operator's own, beside the built-in ones: [ParseRules] reads them. They hold in one process and don't
	// travel.
	Rules []Rule `json:"-"`

	// UndoableDeletes lifts the soft rules about deleting files for a simple command whose words show that all it deletes
	// lies in the workspace, if it is [Command].Kept (`undoable_deletes`).
	UndoableDeletes bool `json:"undoable_deletes,omitempty"`

	// Profile is the set of built-in rules: [ProfileDefault] or [ProfileSeedStrict].
	Profile string `json:"profile,omitempty"`

	// Home is a directory outside the workspace that commands may use as they like, if not empty: their own home. It
	// is open to commands alone, not to tools that open files.
	Home string `json:"home,omitempty"`

	// Private are directories that commands have of their own, such as a sandbox's /tmp, and Shared those below them that
	// are the machine's. A whitelist does not open private directories to commands.
	Private []string `json:"private,omitempty"`
	Shared  []string `json:"shared,omitempty"`
}

// The profiles of built-in command rules.
const (
	ProfileDefault    = ""            // decide by what the command would do
	ProfileSeedStrict = "seed_strict" // also refuse every $(…), ${…}, backtick and numeric chmod
)
