package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// special says what the arguments of a program are for that no table can describe.
type special func(name string, args []shell.Field) []Use

// handler returns the special knowledge of a program, or nil.
func handler(name string) special {
	switch name {
	case "echo", "printf":
		return allData
	case "find", "gfind":
		return find
	case "fd", "fdfind":
		return fd
	case "xargs", "gxargs":
		return xargs
	case "parallel":
		return parallel
	case "env", "genv":
		return env
	case "git":
		return plainGit
	case "tar", "gtar", "bsdtar":
		return tar
	case "dd", "gdd":
		return dd
	case "ln", "gln":
		return ln
	case "jq", "gojq", "jaq", "yq":
		return jq
	case "m4", "gm4":
		return macros
	case "groff", "troff", "nroff", "gtroff", "ditroff":
		return roff
	case "curl":
		return curl
	case "wget":
		return wget
	case "rsync":
		return rsync
	case "docker", "podman", "nerdctl":
		return docker
	case "cmake", "ccmake":
		return cmake
	case "which", "type":
		return located
	case "configure":
		return configure
	case "meson":
		return meson
	case "make", "gmake", "bmake":
		return makeVars
	case "rpm", "rpmbuild", "rpmspec", "rpmquery", "rpmverify", "gs", "ghostscript", "latexmk", "tex", "latex", "pdftex", "pdflatex", "xetex", "xelatex", "luatex", "lualatex":
		return typeset
	case "command":
		return asked
	case "history", "fc":
		return history
	case "crontab", "at", "batch":
		return schedule
	case "jobs":
		return jobs
	case "script":
		return typescript
	case "flock":
		return flock
	case "watch", "watchexec":
		return watch
	case "start-stop-daemon":
		return daemon
	case "deno":
		return deno
	case "sqlite3", "sqlite", "duckdb", "psql", "pgcli", "usql", "mysql", "mariadb", "mycli", "cqlsh", "clickhouse-client", "sqlcmd", "cockroach":
		return databaseClient
	case "redis-cli", "valkey-cli", "keydb-cli":
		return redis
	case "mongosh", "mongo":
		return mongo
	case "dc", "gnuplot":
		return calculator
	case "fzf", "sk":
		return fzf
	case "sops":
		return sops
	case "salt", "salt-call":
		return salt
	case "ansible":
		return ansible
	case "rails":
		return rails
	case "manage.py", "django-admin":
		return django
	case "flask":
		return flask
	case "artisan":
		return artisan
	case "mix":
		return mix
	case "minitest", "testrb", "m":
		return rubyTests
	case "corepack":
		return corepack
	case "crystal", "nim":
		return evaluator
	case "vagrant":
		return vagrant
	case "ssh", "autossh", "slogin":
		return ssh
	case "adb":
		return adb
	case "kubectl", "oc":
		return kubectl
	case "helm":
		return helm
	case "mvn", "mvnw", "mvnd":
		return maven
	case "cargo":
		return cargo
	case "source", ".":
		return source
	case "tmux", "screen":
		return multiplexer
	case "hdfs", "hadoop":
		return hdfs
	case "aws":
		return aws
	case "dotnet", "msbuild", "xbuild", "nuget", "vstest.console":
		return msbuild
	case "bazel", "bazelisk", "blaze", "buck", "buck2", "pants":
		return bazel
	case "http", "https", "xh", "xhs", "httpie":
		return httpie
	case "npm", "pnpm", "yarn", "bun":
		return npm
	case "ed", "red", "ex":
		return lineEditor
	case "vi", "vim", "nvim", "view", "gvim":
		return editor
	case "less", "more":
		return plusCommands
	case "gdb", "lldb":
		return debugger
	case "poetry", "pipenv", "pdm", "hatch", "rye", "uv", "bundle", "conda", "mamba", "dotenvx":
		return runner
	case "trap", "export", "declare", "typeset", "local", "readonly", "alias", "unset", "set", "ulimit", "enable", "complete":
		return allData
	}
	if compiles(name) {
		return plainCompiler
	}
	if lang, ok := languages()[name]; ok {
		return lang.run
	}
	if strings.HasPrefix(name, "git-") {
		return dashed
	}
	return nil
}

// dashed is a verb of git's that is a program of its own.
func dashed(name string, args []shell.Field) []Use {
	argv := []shell.Field{{Text: "git"}, {Text: strings.TrimPrefix(name, "git-")}}
	return []Use{{Kind: Command, Argv: append(argv, args...)}}
}

// Known says whether anything is known of a program's arguments.
func Known(name string) bool { return table()[name] != nil || handler(name) != nil }

// Canonical is the name that the tables and rules have for a program: python3.12 is python.
func Canonical(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at] // of a package, as npx has it: npm@latest
	}
	name = strings.TrimPrefix(name, "zf_") // a builtin of zsh's that is the program of the other name
	if n := len(name); n > 0 && strings.IndexByte("0123456789.-", name[n-1]) < 0 {
		if lang, ok := languages()[name]; ok && lang.as != "" {
			return lang.as
		}
		return name
	}
	trimmed := strings.TrimRight(name, "0123456789.-")
	if table()[name] != nil || handler(name) != nil {
		if lang, ok := languages()[name]; ok && lang.as != "" {
			return lang.as
		}
		if table()[name] == nil || table()[trimmed] != table()[name] {
			return name
		}
		return trimmed // such as pip3
	}
	if trimmed != "" && trimmed != name {
		if table()[trimmed] != nil || handler(trimmed) != nil {
			return Canonical(trimmed)
		}
	}
	return name
}

// allData is for programs of which no argument names anything.
func allData(string, []shell.Field) []Use { return nil }

// next adds the use of the argument behind i.
func next(uses []Use, kind Kind, args []shell.Field, i int) ([]Use, int) {
	if i+1 < len(args) {
		uses = append(uses, Use{Kind: kind, Text: args[i+1].Text, Glob: args[i+1].Glob})
	}
	return uses, i + 1
}

// placeholders replaces what a program replaces by file names.
func placeholders(argv []shell.Field, mark string) []shell.Field {
	out := make([]shell.Field, len(argv))
	for i, f := range argv {
		out[i] = shell.Field{Text: strings.ReplaceAll(f.Text, mark, shell.Item), Glob: f.Glob}
	}
	return out
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func stop(s getopt.Spec) getopt.Spec { s.Stop = true; return s }

func bare(s getopt.Spec) getopt.Spec { s.Bare = true; return s }
