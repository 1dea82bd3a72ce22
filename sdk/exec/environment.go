// Package exec is what a plugin that is granted to start programs is told about them by the operator:
// [github.com/picoclaw/picoclaw/sdk.Environment] has it. It must not know how programs are started.
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

// passed are the variables of this process that commands get besides PATH. The host gives it no others but those of the
// operator's and what the wire needs, which is no command's business.
var passed = []string{
	"LANG", "LC_ALL", "TERM", "TZ",
	"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
}

// searched are the directories that commands are always looked for in.
var searched = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// temporary are the directories that are a sandbox's own, or everybody's where there is no sandbox.
var temporary = []string{"/tmp", "/var/tmp", "/dev/shm"}

// Environment is the whole environment of a command: a sane PATH, the list above, what the operator names, what the
// call adds; the later wins. visible are the directories that commands see besides the system's.
func Environment(operator []string, call map[string]string, visible []string) []string {
	env := []string{"PATH=" + searchPath(os.Getenv("PATH"), visible)}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, operator...)
	for _, name := range slices.Sorted(maps.Keys(call)) {
		env = append(env, name+"="+call[name])
	}
	return env
}

// searchPath is what of the host's PATH lies in the system's directories or in those that commands see, and then the
// usual places: nothing that is somebody's own or that depends on where a command starts. What is in a directory for
// temporary files is not what the host has there, or everybody's.
func searchPath(host string, visible []string) string {
	visible = slices.DeleteFunc(slices.Clone(visible), func(dir string) bool { return slices.Contains(temporary, dir) })
	var path []string
	add := func(dir string) {
		if !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	for _, dir := range filepath.SplitList(host) {
		clean := filepath.Clean(dir)
		if filepath.IsAbs(dir) && (below(clean, "/usr", "/bin", "/sbin", "/nix/store") || below(clean, visible...)) {
			add(clean)
		}
	}
	for _, dir := range searched {
		add(dir)
	}
	return strings.Join(path, string(filepath.ListSeparator))
}

// below reports whether path is one of dirs or lies in one.
func below(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}

// Settings are the operator's settings for commands that a plugin runs for an agent.
type Settings struct {
	Timeout time.Duration `json:"timeout_ns,omitempty"` // how long a command may run unless the call asks for less
	Env     []string      `json:"env,omitempty"`        // NAME=value pairs for every command
	// Confine says that commands are held by the kernel to ReadOnly and ReadWrite, absolute paths, and to what the
	// system needs in order to run programs.
	Confine   bool     `json:"confine,omitempty"`
	ReadOnly  []string `json:"read_only,omitempty"`
	ReadWrite []string `json:"read_write,omitempty"`
	// Unwalled says that nothing but the guard stands between a command and this machine.
	Unwalled bool   `json:"unwalled,omitempty"`
	Limits   Limits `json:"limits,omitzero"`
}

// Limits bound one command with all that it starts: Processes, Memory in bytes, CPU time, FileSize in bytes, and
// OpenFiles of each process; a zero is no limit.
type Limits = limits.Limits
