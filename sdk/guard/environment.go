package guard

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// hook says how a program uses a variable of its environment that makes it run something.
type hook byte

const (
	runs     hook = iota + 1 // the value is a command
	loads                    // the value is loaded as code before anything else
	expands                  // the shell expands the value, substitutions included
	searches                 // the value is a list of directories to find programs or code in
	names                    // the value is a path
)

// hooks are the variables that can make a harmless program do something else.
var hooks = map[string]hook{
	"PAGER": runs, "GIT_PAGER": runs, "MANPAGER": runs, "EDITOR": runs, "VISUAL": runs, "GIT_EDITOR": runs, "GIT_SEQUENCE_EDITOR": runs, "FCEDIT": runs,
	"GIT_SSH_COMMAND": runs, "GIT_SSH": runs, "GIT_ASKPASS": runs, "SSH_ASKPASS": runs, "SUDO_ASKPASS": runs, "GIT_EXTERNAL_DIFF": runs, "GIT_PROXY_COMMAND": runs,
	"BROWSER": runs, "LESSOPEN": runs, "LESSCLOSE": runs, "PROMPT_COMMAND": runs, "RSYNC_RSH": runs, "CVS_RSH": runs, "SYSTEMD_PAGER": runs, "BAT_PAGER": runs,
	"GH_PAGER": runs, "GH_EDITOR": runs, "GH_BROWSER": runs, "SVN_EDITOR": runs, "HGEDITOR": runs, "KUBE_EDITOR": runs, "PSQL_PAGER": runs, "AWS_PAGER": runs, "DELTA_PAGER": runs,
	"RUSTC_WRAPPER": runs, "RUSTC_WORKSPACE_WRAPPER": runs, "CMAKE_C_COMPILER_LAUNCHER": runs, "GOFLAGS": expands,
	"LD_PRELOAD": loads, "LD_AUDIT": loads, "DYLD_INSERT_LIBRARIES": loads, "BASH_ENV": loads, "ENV": loads, "PERL5OPT": loads, "PERL5DB": loads, "RUBYOPT": loads, "TAR_OPTIONS": loads,
	"PYTHONSTARTUP": loads, "PYTHONINSPECT": loads, "JAVA_TOOL_OPTIONS": loads, "_JAVA_OPTIONS": loads, "BASH_FUNC_x%%": loads, "SHELLOPTS": loads, "BASHOPTS": expands, "PS4": expands, "PS0": expands, "PS1": expands, "PS2": expands,
	"NODE_OPTIONS": names, "PATH": searches, "LD_LIBRARY_PATH": searches, "DYLD_LIBRARY_PATH": searches, "PYTHONPATH": searches, "PERL5LIB": searches, "RUBYLIB": searches, "NODE_PATH": searches,
	"GIT_DIR": names, "GIT_WORK_TREE": names, "GIT_INDEX_FILE": names, "GIT_CONFIG": names, "GIT_CONFIG_GLOBAL": names, "GIT_CONFIG_SYSTEM": names, "GIT_CONFIG_PARAMETERS": loads, "GIT_TEMPLATE_DIR": names, "GIT_EXEC_PATH": names,
	"KUBECONFIG": names, "HISTFILE": names, "PYTHONHOME": names, "GIT_TRACE": names, "GIT_TRACE2": names, "NPM_CONFIG_SCRIPT_SHELL": runs, "npm_config_script_shell": runs,
}

// environment decides on the variables that are set for a command, or for all that follow.
func (a *analysis) environment(c *shell.Call) {
	for name, value := range c.Env {
		if key, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
			setting := value + "=" + c.Env["GIT_CONFIG_VALUE_"+key]
			c.Pipe("git", []shell.Field{{Text: "git"}, {Text: "-c"}, {Text: setting}, {Text: "version"}}, shell.Stream{})
		}
		how, ok := hooks[name]
		if !ok && strings.HasPrefix(name, "BASH_FUNC_") {
			how, ok = loads, true
		}
		if !ok || value == "" || value == shell.Unknown || value == shell.Unset {
			continue
		}
		switch how {
		case runs:
			if !shell.HasUnknown(value) {
				c.Code(strings.TrimLeft(value, "|-"), nil)
			}
		case loads:
			a.hard(c, "exec.environment", name+" makes programs load code that they wouldn't otherwise")
		case expands:
			if strings.ContainsAny(value, "`$") || strings.Contains(value, "exec=") {
				a.hard(c, "exec.environment", "the commands in the value of "+name+" would run")
			}
		case searches:
			a.search(c, name, value)
		case names:
			a.argument(c, "", strings.TrimSpace(value), false)
		}
	}
}

// search decides on the directories of a search path.
func (a *analysis) search(c *shell.Call, name, value string) {
	for _, dir := range strings.Split(value, ":") {
		if dir == "" || shell.HasUnknown(dir) || systemBins[filepath.Clean(dir)] {
			continue
		}
		a.path(&c.Place, Read, dir, false, []string{name + "=" + value})
	}
}

// malformedEnv returns what in an environment would reach a program as something else than was decided on: a name with a "="
// in it is a shorter name there.
func malformedEnv(env map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Sprintf("%q can't be the name of a variable of the environment", name)
		}
		if strings.Contains(env[name], "\x00") {
			return fmt.Sprintf("the value of the variable %s of the environment contains a NUL byte", printable(name))
		}
	}
	return ""
}
