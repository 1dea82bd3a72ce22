package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
)

// Guard decides on paths and commands by one compiled [Policy]. It is immutable and safe for concurrent use.
type Guard struct {
	policy     Policy
	workspaces []string         // workspace: resolved path first, then its other names
	allowed    []string         // Policy.Paths, resolved once
	protected  []string         // Policy.Protected, resolved
	open       []string         // Policy.Unprotected, resolved
	readPaths  []*regexp.Regexp // Policy.AllowReadPaths
	writePaths []*regexp.Regexp // Policy.AllowWritePaths
	deny       []*regexp.Regexp // Policy.Exec.CustomDeny
	allow      []*regexp.Regexp // Policy.Exec.CustomAllow, anchored at both ends
	rules      *rules.RuleSet   // the built-in ones and Policy.Exec.Rules
	inside     *protect.Rules   // Policy.WorkspaceDeny and WorkspaceAsk
}

// NewGuard compiles a policy. Its error names the invalid setting.
func NewGuard(p Policy) (*Guard, error) {
	g := &Guard{policy: p, rules: rules.BuiltinRules().WithOperatorRules(p.Exec.Rules)}
	if p.Workspace == "" || !filepath.IsAbs(p.Workspace) {
		return nil, fmt.Errorf("agents.defaults.workspace: %q is not an absolute path", p.Workspace)
	}
	named := filepath.Clean(p.Workspace)
	real, err := paths.Resolve(named)
	if err != nil {
		return nil, fmt.Errorf("agents.defaults.workspace: %w", err)
	}
	g.workspaces = []string{real}
	for _, name := range []string{named, p.WorkspaceName} {
		if name != "" && name != real {
			g.workspaces = append(g.workspaces, filepath.Clean(name))
		}
	}
	if err = errors.Join(
		resolvePaths("constraints.paths", p.Paths, &g.allowed),
		resolvePaths("protected", p.Protected, &g.protected),
		resolvePaths("unprotected", p.Unprotected, &g.open),
	); err != nil {
		return nil, err
	}
	mayChangeOutside := func(path string) bool { return !g.policy.Restrict || g.isWhitelisted(Write, path) }
	g.inside, err = protect.CompileRules(real, protect.PathLists{Deny: p.WorkspaceDeny, Ask: p.WorkspaceAsk}, mayChangeOutside)
	if err != nil {
		return nil, fmt.Errorf("workspace.protect: %w", err)
	}
	switch p.Exec.Profile {
	case ProfileDefault, ProfileSeedStrict:
	default:
		return nil, fmt.Errorf("tools.exec.profile: %q is not a profile; leave it empty or use %q",
			p.Exec.Profile, ProfileSeedStrict)
	}
	return g, errors.Join(
		compilePatterns("tools.allow_read_paths", p.AllowReadPaths, "%s", &g.readPaths),
		compilePatterns("tools.allow_write_paths", p.AllowWritePaths, "%s", &g.writePaths),
		compilePatterns("tools.exec.custom_deny_patterns", p.Exec.CustomDeny, "%s", &g.deny),
		compilePatterns("tools.exec.custom_allow_patterns", p.Exec.CustomAllow, `\A(?:%s)\z`, &g.allow),
	)
}

// resolvePaths resolves absolute paths of one setting and appends them to *into.
func resolvePaths(key string, named []string, into *[]string) error {
	for _, path := range named {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%s: %q is not an absolute path", key, path)
		}
		real, err := paths.Resolve(filepath.Clean(path))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*into = append(*into, real)
	}
	return nil
}

// compilePatterns compiles the regular expressions of one setting and appends them to *into. The format string form has
// one %s for the expression.
func compilePatterns(key string, exprs []string, form string, into *[]*regexp.Regexp) error {
	for _, expr := range exprs {
		if expr == "" {
			return fmt.Errorf("%s: an empty pattern matches everything; remove it", key)
		}
		if _, err := regexp.Compile(expr); err != nil {
			return fmt.Errorf("%s: %q is not a valid regular expression: %w", key, expr, err)
		}
		re, err := regexp.Compile(fmt.Sprintf(form, expr))
		if err != nil {
			return fmt.Errorf("%s: %q is not a valid regular expression: %w", key, expr, err)
		}
		*into = append(*into, re)
	}
	return nil
}

// ShellDialect is the shell language of a command.
type ShellDialect string

// Shell languages.
const (
	Bash       ShellDialect = ""           // bash --noprofile --norc -c
	POSIX      ShellDialect = "posix"      // sh -c, which differs between machines
	Cmd        ShellDialect = "cmd"        // cmd /c
	PowerShell ShellDialect = "powershell" // powershell -Command
)

// ShellProgram is a shell to execute commands: the command text follows Args.
type ShellProgram struct {
	Path    string
	Args    []string
	Dialect ShellDialect
}

// supportedShells are the shells for commands, in order of preference. Their options disable startup files, which could
// change a command's meaning.
var supportedShells = []ShellProgram{
	{Path: "/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/usr/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/usr/local/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/bin/sh", Args: []string{"-c"}, Dialect: POSIX},
}

// FindShell returns the first supported shell on this machine, without searching PATH. Use the same shell to decide on
// a command and to execute it.
func FindShell() (ShellProgram, error) {
	for _, s := range supportedShells {
		if _, err := os.Stat(s.Path); err == nil {
			return s, nil
		}
	}
	return ShellProgram{}, errors.New("this machine has neither bash nor /bin/sh; install one")
}

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

	// Unwatched reports that neither the workspace nor a monitor checks the contents of written files. Files whose
	// protection depends on the content then need approval for every change.
	Unwatched bool `json:"unwatched,omitempty"`

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
