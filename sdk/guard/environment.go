package guard

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// variableEffect is the way in which an environment variable can make a program execute something.
type variableEffect byte

const (
	useCommand    variableEffect = iota + 1 // value is a command
	useCode                                 // value is loaded as code before anything else
	useExpansion                            // the shell expands the value, including substitutions
	useSearchPath                           // value lists directories of programs or code
	usePath                                 // value is a path
	useStartup                              // value is a file that shells execute first, or an environment name such as test
	useArguments                            // value has more arguments for the program
)

// dangerousVariables are environment variables that can make a harmless program execute something.
var dangerousVariables = sync.OnceValue(func() map[string]variableEffect {
	all := map[string]variableEffect{}
	for _, group := range []struct {
		how   variableEffect
		names string
	}{
		{useCommand, `PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER GH_PAGER PSQL_PAGER AWS_PAGER DELTA_PAGER EDITOR
			VISUAL FCEDIT GIT_EDITOR GIT_SEQUENCE_EDITOR GH_EDITOR SVN_EDITOR HGEDITOR KUBE_EDITOR PSQL_EDITOR
			SYSTEMD_EDITOR JJ_EDITOR CVSEDITOR LYNX_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS
			SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND BROWSER GH_BROWSER CC CXX LESSOPEN LESSCLOSE
			PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH HG_SSH KUBECTL_EXTERNAL_DIFF RUSTC_WRAPPER
			RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER CMAKE_C_COMPILER_LAUNCHER
			CMAKE_CXX_COMPILER_LAUNCHER FZF_DEFAULT_COMMAND DIFFPROG NPM_CONFIG_SCRIPT_SHELL
			npm_config_script_shell npm_config_git NPM_CONFIG_GIT npm_config_editor npm_config_shell
			npm_config_viewer`},
		{useCode, `LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV PERL5OPT PERL5DB RUBYOPT TAR_OPTIONS
			PYTHONSTARTUP PYTHONINSPECT JAVA_TOOL_OPTIONS _JAVA_OPTIONS SHELLOPTS GIT_CONFIG_PARAMETERS`},
		{useExpansion, "GOFLAGS BASHOPTS PS4 PS0 PS1 PS2 MANLESS TEXEDIT PERLDB_OPTS"},
		{useSearchPath, "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PERL5LIB RUBYLIB NODE_PATH"},
		{usePath, `GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR
			GIT_EXEC_PATH GIT_TRACE GIT_TRACE2 KUBECONFIG HISTFILE PYTHONHOME OPENSSL_CONF WGETRC SYSTEM_WGETRC
			MAKEFILES npm_config_prefix NPM_CONFIG_PREFIX PIP_TARGET PIP_PREFIX PIP_ROOT`},
		{useStartup, "ENV"},
		{useArguments, "MAKEFLAGS GNUMAKEFLAGS MFLAGS NODE_OPTIONS npm_config_node_options NPM_CONFIG_NODE_OPTIONS"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			all[name] = group.how
		}
	}
	return all
})

// checkEnvironment checks variables that are set for a command or for all following ones.
func (a *commandAnalysis) checkEnvironment(c *shell.SimpleCommand) {
	if len(c.Env) == 0 {
		return
	}
	before := a.elsewhere
	defer func() { a.elsewhere = before }()
	a.elsewhere = true // who runs what a variable holds has a directory of its own
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		value := c.Env[name]
		if key, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
			setting := value + "=" + c.Env["GIT_CONFIG_VALUE_"+key]
			c.InterpretStartedCommandWithStdin("git", []shell.Argument{{Text: "git"}, {Text: "-c"}, {Text: setting}, {Text: "version"}}, shell.StreamContent{})
		}
		how := dangerousVariables()[name]
		if strings.HasPrefix(name, "BASH_FUNC_") {
			how = useCode
		}
		if how != 0 && value != "" && value != shell.Unknown && value != shell.Unset {
			a.checkDangerousVariable(c, how, name, value)
		}
	}
}

// checkDangerousVariable checks the value of a dangerous variable by its effect.
func (a *commandAnalysis) checkDangerousVariable(c *shell.SimpleCommand, how variableEffect, name, value string) {
	switch how {
	case useCommand:
		if !shell.HasUnknown(value) && !strings.HasPrefix(value, "/") {
			c.InterpretCode(strings.TrimLeft(value, "|-"), nil)
		}
	case useCode:
		a.addUnliftableFinding(c, "exec.environment", name+" makes programs load other code")
	case useStartup:
		if strings.ContainsAny(value, "/.") {
			a.addUnliftableFinding(c, "exec.environment", name+" makes shells run another file")
		}
	case useExpansion:
		if strings.Contains(value, "`") || strings.Contains(value, "$(") || strings.Contains(value, "exec=") {
			a.addUnliftableFinding(c, "exec.environment", "the commands in the value of "+name+" would run")
		}
	case useSearchPath:
		dirs := strings.Split(value, ":")
		slices.Sort(dirs)
		for _, dir := range slices.Compact(dirs) {
			if dir != "" && !shell.HasUnknown(dir) && !systemBins[filepath.Clean(dir)] {
				a.checkPath(&c.CommandLocation, Read, dir, false, []string{name + "=" + value})
			}
		}
	case usePath:
		a.checkUntypedArgument(c, "", []string{name + "=" + value}, strings.TrimSpace(value), false)
	case useArguments:
		program := "make"
		if strings.Contains(strings.ToUpper(name), "NODE") {
			program = "node"
		}
		argv := shell.PlainArguments(slices.Concat([]string{program}, strings.Fields(value), []string{"--version"})...)
		c.InterpretStartedCommandWithStdin(program, argv, shell.StreamContent{})
	}
}

// findEnvProblem returns the reason that an environment is invalid, or "". For example, the program would read a name
// with "=" as a shorter name.
func findEnvProblem(env map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Sprintf("%q can't be the name of a variable of the environment", name)
		}
		if strings.Contains(env[name], "\x00") {
			return fmt.Sprintf("the value of the variable %s of the environment contains a NUL byte", escapeUnprintable(name))
		}
	}
	return ""
}
