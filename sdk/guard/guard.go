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
