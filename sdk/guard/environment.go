package guard

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// hook says how a program uses a variable of its environment that makes it run something.
type hook byte

const (
	runs      hook = iota + 1 // the value is a command
	loads                     // the value is loaded as code before anything else
	expands                   // the shell expands the value, substitutions included
	searches                  // the value is a list of directories to find programs or code in
	names                     // the value is a path
	options                   // the value is more arguments for make
	preloads                  // the value is more options for Node
	finds                     // the value is more options for fzf
	compiles                  // the value is a compiler, which may be installed anywhere
	fetches                   // the value is a file of settings of wget's
	lua                       // the value is code of Lua, or @ and a file of it
	vim                       // the value is a command of vim's
	links                     // the value is more options for rustc
	machines                  // the value is more options for a Java machine
	makes                     // the value is a list of makefiles
	arguments                 // the value is more options for a program
	begins                    // the value is a file that interactive shells run first, but mostly the name of an environment, such as test
	recalls                   // the value is a file of commands that a shell can start again
	inserts                   // the value is a part of the commands that make starts
	globally                  // the value makes npm install for the whole machine
)

// operators are what makes commands of a part of one.
const operators = ";|&`\n"

// hooks are the variables that can make a harmless program do something else.
var hooks = map[string]hook{
	"PAGER": runs, "GIT_PAGER": runs, "MANPAGER": runs, "EDITOR": runs, "VISUAL": runs, "GIT_EDITOR": runs, "GIT_SEQUENCE_EDITOR": runs, "FCEDIT": runs,
	"GIT_SSH_COMMAND": runs, "GIT_SSH": runs, "GIT_ASKPASS": runs, "SSH_ASKPASS": runs, "SUDO_ASKPASS": runs, "GIT_EXTERNAL_DIFF": runs, "GIT_PROXY_COMMAND": runs,
	"BROWSER": runs, "LESSOPEN": runs, "LESSCLOSE": runs, "PROMPT_COMMAND": runs, "RSYNC_RSH": runs, "CVS_RSH": runs, "SYSTEMD_PAGER": runs, "BAT_PAGER": runs,
	"GH_PAGER": runs, "GH_EDITOR": runs, "GH_BROWSER": runs, "SVN_EDITOR": runs, "HGEDITOR": runs, "KUBE_EDITOR": runs, "KUBECTL_EXTERNAL_DIFF": runs, "PSQL_PAGER": runs, "AWS_PAGER": runs, "DELTA_PAGER": runs,
	"RUSTC_WRAPPER": runs, "RUSTC_WORKSPACE_WRAPPER": runs, "CMAKE_C_COMPILER_LAUNCHER": runs, "GOFLAGS": expands,
	"LD_PRELOAD": loads, "LD_AUDIT": loads, "DYLD_INSERT_LIBRARIES": loads, "BASH_ENV": loads, "ENV": begins, "PERL5OPT": loads, "PERL5DB": loads, "RUBYOPT": loads, "TAR_OPTIONS": loads,
	"PYTHONSTARTUP": loads, "PYTHONINSPECT": loads, "JAVA_TOOL_OPTIONS": loads, "_JAVA_OPTIONS": loads, "BASH_FUNC_x%%": loads, "SHELLOPTS": loads, "BASHOPTS": expands, "PS4": expands, "PS0": expands, "PS1": expands, "PS2": expands,
	"NODE_OPTIONS": preloads, "PATH": searches, "LD_LIBRARY_PATH": searches, "DYLD_LIBRARY_PATH": searches, "PYTHONPATH": searches, "PERL5LIB": searches, "RUBYLIB": searches, "NODE_PATH": searches,
	"GIT_DIR": names, "GIT_WORK_TREE": names, "GIT_INDEX_FILE": names, "GIT_CONFIG": names, "GIT_CONFIG_GLOBAL": names, "GIT_CONFIG_SYSTEM": names, "GIT_CONFIG_PARAMETERS": loads, "GIT_TEMPLATE_DIR": names, "GIT_EXEC_PATH": names,
	"MAKEFLAGS": options, "GNUMAKEFLAGS": options, "MFLAGS": options, "MAKEFILES": makes,
	"CC": compiles, "CXX": compiles, "CPP": compiles, "LD": compiles, "AR": compiles, "AS": compiles, "FC": compiles, "RUSTC": compiles, "RUSTDOC": compiles, "CGO_CC": compiles, "HOSTCC": compiles,
	"CMAKE_CXX_COMPILER_LAUNCHER": runs, "CARGO_BUILD_RUSTC_WRAPPER": runs, "FZF_DEFAULT_COMMAND": runs, "FZF_DEFAULT_OPTS": finds, "CARGO_BUILD_RUSTC": compiles,
	"PSQL_EDITOR": runs, "SVN_SSH": runs, "HG_SSH": runs, "CVSEDITOR": runs, "LYNX_EDITOR": runs, "SYSTEMD_EDITOR": runs, "MANLESS": expands, "JJ_EDITOR": runs, "DIFFPROG": runs, "TEXEDIT": expands,
	"npm_config_git": runs, "NPM_CONFIG_GIT": runs, "npm_config_editor": runs, "npm_config_shell": runs, "npm_config_viewer": runs, "npm_config_node_options": preloads, "NPM_CONFIG_NODE_OPTIONS": preloads,
	"LUA_INIT": lua, "LUA_INIT_5_1": lua, "LUA_INIT_5_2": lua, "LUA_INIT_5_3": lua, "LUA_INIT_5_4": lua, "VIMINIT": vim, "EXINIT": vim, "GVIMINIT": vim,
	"RUSTFLAGS": links, "RUSTDOCFLAGS": links, "CARGO_BUILD_RUSTFLAGS": links, "CARGO_ENCODED_RUSTFLAGS": links,
	"JDK_JAVA_OPTIONS": machines, "MAVEN_OPTS": machines, "GRADLE_OPTS": machines, "SBT_OPTS": machines, "JAVA_OPTS": machines, "ANT_OPTS": machines, "MAVEN_ARGS": machines,
	"LESS": arguments, "ZIPOPT": arguments, "ZIP": arguments, "BC_ENV_ARGS": arguments, "ERL_FLAGS": arguments, "ERL_AFLAGS": arguments, "ERL_ZFLAGS": arguments,
	"MANROFFOPT": arguments, "ELIXIR_ERL_OPTIONS": arguments, "PERLDB_OPTS": expands,
	"CFLAGS": inserts, "CPPFLAGS": inserts, "CXXFLAGS": inserts, "LDFLAGS": inserts, "LDLIBS": inserts, "ASFLAGS": inserts, "FFLAGS": inserts, "ARFLAGS": inserts, "LOADLIBES": inserts, "TARGET_ARCH": inserts,
	"npm_config_global": globally, "NPM_CONFIG_GLOBAL": globally, "npm_config_location": globally, "NPM_CONFIG_LOCATION": globally, "npm_config_prefix": names, "NPM_CONFIG_PREFIX": names,
	"PIP_TARGET": names, "PIP_PREFIX": names, "PIP_ROOT": names,
	"OPENSSL_CONF": names, "WGETRC": fetches, "SYSTEM_WGETRC": fetches, "KUBECONFIG": names, "HISTFILE": recalls, "PYTHONHOME": names, "GIT_TRACE": names, "GIT_TRACE2": names, "NPM_CONFIG_SCRIPT_SHELL": runs, "npm_config_script_shell": runs,
}

// plainName matches a name that is no path, and has no ending as files have.
var plainName = pattern.New(`^[A-Za-z0-9_-]+$`)

// rebased are commands that an editor puts into the list of what git rebase does.
var rebased = regexp.MustCompile(`\b(?:exec|x)\s+([^"'\\/|]+)`)

// malformedEnv says what in an environment would reach a program as something else than was decided on: a name with a "="
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

// environment decides on the variables that are set for a command, or for all that follow.
func (a *analysis) environment(c *shell.Call) {
	if len(c.Env) == 0 {
		return
	}
	var room [8]string
	sorted := room[:0]
	for name := range c.Env {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted) // of several findings the same one counts each time
	for _, name := range sorted {
		value := c.Env[name]
		if key, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
			setting := value + "=" + c.Env["GIT_CONFIG_VALUE_"+key]
			c.Pipe("git", []shell.Field{{Text: "git"}, {Text: "-c"}, {Text: setting}, {Text: "version"}}, shell.Stream{})
		}
		how, ok := hooks[name]
		if !ok && strings.HasPrefix(name, "BASH_FUNC_") {
			how, ok = loads, true
		}
		if !ok && strings.HasPrefix(name, "CARGO_TARGET_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER")) {
			how, ok = compiles, true
		}
		if !ok || value == "" || value == shell.Unknown || value == shell.Unset {
			continue
		}
		switch how {
		case runs:
			if !shell.HasUnknown(value) {
				c.Code(strings.TrimLeft(value, "|-"), nil)
			}
			if name == "GIT_SEQUENCE_EDITOR" || name == "GIT_EDITOR" {
				for _, m := range rebased.FindAllStringSubmatch(value, -1) {
					c.Code(m[1], nil)
				}
			}
		case loads:
			a.hard(c, "exec.environment", name+" makes programs load code that they wouldn't otherwise")
		case begins:
			if !plainName.MatchString(value) {
				a.hard(c, "exec.environment", name+" makes shells run a file that they wouldn't otherwise")
			}
			a.script(c, value, "sh", nil)
		case expands:
			if c.Substitutes(value) || strings.Contains(value, "exec=") {
				a.hard(c, "exec.environment", "the commands in the value of "+name+" would run")
			}
		case searches:
			a.search(c, name, value)
		case options:
			argv := makeFlags(value)
			if len(c.Argv) > 0 && strings.HasSuffix(shell.Name(c.Argv[0].Text), "make") {
				argv = append(argv, c.Argv[1:]...) // what is made is up to both
			}
			c.Pipe("make", argv, shell.Stream{})
		case preloads:
			c.Pipe("node", nodeOptions(value), shell.Stream{})
		case finds:
			c.Code("fzf "+value, nil)
		case fetches:
			c.Pipe("wget", []shell.Field{{Text: "wget"}, {Text: "--config=" + value}}, shell.Stream{})
		case compiles:
			if !strings.HasPrefix(value, "/") || strings.Contains(value, " ") || systemBins[filepath.Dir(value)] {
				c.Code(value, nil)
			}
		case makes:
			a.shape(c, "", strings.TrimSpace(value), false)
			for _, file := range strings.Fields(value) {
				a.script(c, file, "make", nil)
			}
		case lua:
			if file, ok := strings.CutPrefix(value, "@"); ok {
				a.use(c, "lua", programs.Use{Kind: programs.Script, Lang: "lua", Text: file})
			} else {
				a.code(c, "lua", value, nil)
			}
		case vim:
			a.code(c, "vim", value, nil)
		case links:
			if _, linker, ok := strings.Cut(value, "linker="); ok {
				linker, _, _ = strings.Cut(strings.Split(linker, " ")[0], "\x1f")
				c.Code(linker, nil)
			}
		case machines:
			if strings.Contains(value, "-javaagent:") || strings.Contains(value, "-agentpath:") || strings.Contains(value, "-XX:OnError=") || strings.Contains(value, "-XX:OnOutOfMemoryError=") {
				a.hard(c, "exec.environment", name+" makes programs load code that they wouldn't otherwise")
			}
		case arguments:
			argv := flags(configures[name], value)
			if name == "MANROFFOPT" && len(c.Argv) > 0 {
				argv = append(argv, c.Argv[1:]...)
			}
			c.Pipe(name, argv, shell.Stream{})
		case inserts:
			if strings.ContainsAny(value, operators) {
				c.Code(": "+value, nil)
			}
		case globally:
			if len(c.Argv) > 0 && value != "false" && value != "0" && value != "project" {
				c.Pipe(shell.Name(c.Argv[0].Text), append([]shell.Field{c.Argv[0], {Text: "--global"}}, c.Argv[1:]...), shell.Stream{})
			}
		case names:
			a.shape(c, "", strings.TrimSpace(value), false)
		case recalls:
			a.shape(c, "", strings.TrimSpace(value), false)
			a.script(c, value, "sh", nil)
		}
	}
}

// search decides on the directories of a search path.
func (a *analysis) search(c *shell.Call, name, value string) {
	argv := []string{name + "=" + value}
	for _, dir := range strings.Split(value, ":") {
		if dir == "" || shell.HasUnknown(dir) || systemBins[filepath.Clean(dir)] {
			continue
		}
		a.path(&c.Place, Read, dir, false, argv)
	}
}

// makeFlags is the command that make is with the options in one of its variables. There, a backslash keeps a space in a word, and
// the dash of the first word may be missing.
func makeFlags(value string) []shell.Field {
	argv := []shell.Field{{Text: "make"}}
	if strings.Contains(value, "$(shell ") || strings.Contains(value, "${shell ") {
		argv = append(argv, shell.Field{Text: "FLAGS=" + strings.ReplaceAll(value, "${shell ", "$(shell ")}) // make expands it first
	}
	for i, word := range strings.Split(strings.ReplaceAll(value, `\ `, "\x00"), " ") {
		word = strings.ReplaceAll(word, "\x00", " ")
		if i == 0 && word != "" && word[0] != '-' && !strings.Contains(word, "=") {
			word = "-" + word
		}
		if word != "" {
			argv = append(argv, shell.Field{Text: word})
		}
	}
	return argv
}

// nodeOptions is the command that Node is with the options in its variable.
func nodeOptions(value string) []shell.Field {
	argv := []shell.Field{{Text: "node"}}
	for _, word := range strings.Fields(value) {
		argv = append(argv, shell.Field{Text: strings.Trim(word, `"`)})
	}
	return append(argv, shell.Field{Text: "--version"})
}

// configures are the programs that have more options in a variable.
var configures = map[string]string{
	"LESS": "less", "ZIPOPT": "zip", "ZIP": "zip", "BC_ENV_ARGS": "bc", "ERL_FLAGS": "erl", "ERL_AFLAGS": "erl", "ERL_ZFLAGS": "erl", "ELIXIR_ERL_OPTIONS": "erl", "MANROFFOPT": "groff",
}

// flags is the command that a program is with the options in its variable. A command, or code, goes on up to the end.
func flags(program, value string) []shell.Field {
	argv := []shell.Field{{Text: program}}
	words := strings.Fields(value)
	for i, word := range words {
		if strings.HasPrefix(word, "+") || i > 0 && words[i-1] == "-eval" {
			return append(argv, shell.Field{Text: strings.Join(words[i:], " ")})
		}
		argv = append(argv, shell.Field{Text: word})
	}
	return argv
}
