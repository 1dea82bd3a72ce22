package guard

// Policy lists the allowed paths and commands as plain data, which the host sends to plugins. [NewGuard] compiles it.
type Policy struct {
	// Workspace is the absolute path of the agent's working directory, with symlinks resolved. Relative paths start
	// there.
	Workspace string `json:"workspace"`

	// WorkspaceName is the configured absolute path of the workspace if it contains symlinks, else empty. Paths below
	// it are paths in the workspace.
	WorkspaceName string `json:"workspace_name,omitempty"`

	// Restrict limits paths to the workspace and the whitelists below. If it is false, every path is allowed. Command
	// rules apply in both cases.
	Restrict bool `json:"restrict_to_workspace"`

	// AllowReadOutside allows reading and listing anywhere although Restrict is set.
	AllowReadOutside bool `json:"allow_read_outside_workspace"`

	// AllowReadPaths and AllowWritePaths are regular expressions (RE2) for absolute paths with resolved symlinks. They
	// are not anchored: `^/a/b` also matches /a/bc. AllowWritePaths allows writing, not reading.
	AllowReadPaths  []string `json:"allow_read_paths,omitempty"`
	AllowWritePaths []string `json:"allow_write_paths,omitempty"`

	// Paths, if not empty, limits everything above to these directories (the `paths` constraint of the filesystem
	// module, with templates filled in).
	Paths []string `json:"paths,omitempty"`

	// Protected are absolute paths that no whitelist opens, with everything below them: for example the directory of
	// the policy itself. Paths in the workspace or below one of Unprotected are exempt. Both apply only with Restrict.
	Protected   []string `json:"protected,omitempty"`
	Unprotected []string `json:"unprotected,omitempty"`

	// WorkspaceDeny are paths in the workspace that an agent must not change, WorkspaceAsk those that need a person's
	// approval (`workspace.protect`). They are relative to the top of the workspace and of each git repository in it.
	WorkspaceDeny []string `json:"workspace_deny,omitempty"`
	WorkspaceAsk  []string `json:"workspace_ask,omitempty"`

	// MaxFileSize is the maximum size of a file to read or write, in bytes; 0 is no limit.
	MaxFileSize int64 `json:"max_file_size,omitempty"`

	// Kernel reports whether the kernel confines commands, by Landlock or a mount view. The guard then allows paths
	// that commands compute at run time. Otherwise they need approval.
	Kernel bool `json:"kernel,omitempty"`

	// Exec holds the settings for commands.
	Exec ExecPolicy `json:"exec"`
}

// ExecPolicy holds the settings for commands.
type ExecPolicy struct {
	// DenyPatterns enables the built-in rules (`enable_deny_patterns`).
	DenyPatterns bool `json:"enable_deny_patterns"`

	// CustomDeny are regular expressions that refuse a command in any case.
	CustomDeny []string `json:"custom_deny_patterns,omitempty"`

	// CustomAllow are regular expressions that lift a soft built-in rule for a simple command. They must match the
	// whole simple command.
	CustomAllow []string `json:"custom_allow_patterns,omitempty"`

	// Rules are the operator's own rules from [ParseExecRules]. They are not sent to plugins.
	Rules []Rule `json:"-"`

	// UndoableDeletes lifts soft rules about deleting files (`undoable_deletes`). It applies to a simple command that
	// is [Command].Undoable and whose words show that it only deletes files in the workspace.
	UndoableDeletes bool `json:"undoable_deletes,omitempty"`

	// Profile is the set of built-in rules: [ProfileDefault] or [ProfileSeedStrict].
	Profile string `json:"profile,omitempty"`

	// Home is a directory outside the workspace that commands may use freely, as their home. It is not open to file
	// tools. It may be empty.
	Home string `json:"home,omitempty"`

	// Private are directories of which commands see their own version, such as a sandbox's /tmp. Shared are directories
	// below them that are the machine's. A whitelist does not open private directories to commands.
	Private []string `json:"private,omitempty"`
	Shared  []string `json:"shared,omitempty"`
}

// Profiles of built-in command rules.
const (
	ProfileDefault    = ""            // decide by what the command would do
	ProfileSeedStrict = "seed_strict" // also refuse every $(…), ${…}, backtick and numeric chmod
)
