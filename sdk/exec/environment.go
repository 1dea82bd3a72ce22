// Package exec has the operator's settings for plugins that start programs, which
// [github.com/picoclaw/picoclaw/sdk.Environment] contains. It must not know how programs are started.
package exec

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
)

// passedVariables are variables of this process that commands inherit, besides PATH.
var passedVariables = []string{
	"LANG", "LC_ALL", "TERM", "TZ",
	"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
}

// fixedVariables are variables of all commands. Git must not use rerere: it writes to files that a list in the git
// directory names, wherever they lead.
var fixedVariables = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=rerere.enabled", "GIT_CONFIG_VALUE_0=false"}

// systemPath are the directories that are always in PATH.
var systemPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// temporaryDirs are private in a sandbox. Without one, all users share them.
var temporaryDirs = []string{"/tmp", "/var/tmp", "/dev/shm"}

// BuildEnvironment returns the environment of a command: a safe PATH, inherited variables, the operator's and the
// call's. Later ones win. visible are directories that commands can read in addition to the system's.
func BuildEnvironment(operator []string, call map[string]string, visible []string) []string {
	env := []string{"PATH=" + buildCommandPath(os.Getenv("PATH"), visible)}
	for _, name := range passedVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(append(env, fixedVariables...), operator...)
	for _, name := range slices.Sorted(maps.Keys(call)) {
		env = append(env, name+"="+call[name])
	}
	return env
}

// buildCommandPath returns the PATH of a command. It contains the directories of the host's PATH that belong to the system or
// are visible, and the usual ones. It omits relative and temporary directories.
func buildCommandPath(host string, visible []string) string {
	visible = slices.DeleteFunc(slices.Clone(visible), func(dir string) bool { return slices.Contains(temporaryDirs, dir) })
	var path []string
	add := func(dir string) {
		if !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	for _, dir := range filepath.SplitList(host) {
		clean := filepath.Clean(dir)
		if filepath.IsAbs(dir) && (isBelowAny(clean, "/usr", "/bin", "/sbin", "/nix/store") || isBelowAny(clean, visible...)) {
			add(clean)
		}
	}
	for _, dir := range systemPath {
		add(dir)
	}
	return strings.Join(path, string(filepath.ListSeparator))
}

func isBelowAny(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}

// CommandSettings are the operator's settings for commands.
type CommandSettings struct {
	Timeout    time.Duration `json:"timeout_ns,omitempty"`  // maximum run time of a command; a call may ask for less
	TimeoutKey string        `json:"timeout_key,omitempty"` // key of Timeout in the configuration, for messages
	Env        []string      `json:"env,omitempty"`         // NAME=value pairs for every command
	// Confine says that the kernel limits commands to the absolute paths ReadOnly and ReadWrite, and to files that
	// running programs needs.
	Confine   bool     `json:"confine,omitempty"`
	ReadOnly  []string `json:"read_only,omitempty"`
	ReadWrite []string `json:"read_write,omitempty"`
	// Sandboxed says that the plugin and its commands run in a sandbox with private processes, shared memory and
	// terminals.
	Sandboxed bool `json:"sandboxed,omitempty"`
	// Unwalled says that only the guard protects this machine from commands.
	Unwalled bool          `json:"unwalled,omitempty"`
	Limits   CommandLimits `json:"limits,omitzero"`
}

// CommandLimits limit one command with its descendants; zero is no limit.
type CommandLimits = limits.ProcessLimits
