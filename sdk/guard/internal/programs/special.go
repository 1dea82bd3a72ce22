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
		return git
	case "tar", "gtar", "bsdtar":
		return tar
	case "dd", "gdd":
		return dd
	case "ln", "gln":
		return ln
	case "curl":
		return curl
	case "wget":
		return wget
	case "rsync":
		return rsync
	case "docker", "podman", "nerdctl":
		return docker
	case "make", "gmake", "bmake":
		return makeVars
	case "crontab", "at", "batch":
		return schedule
	case "flock":
		return flock
	case "watch", "watchexec":
		return watch
	case "start-stop-daemon":
		return daemon
	case "deno":
		return deno
	case "sqlite3", "sqlite", "duckdb", "psql", "mysql", "mariadb":
		return databaseClient
	case "source", ".":
		return source
	case "tmux", "screen":
		return multiplexer
	case "npm", "pnpm", "yarn", "bun":
		return npm
	case "ed", "red", "ex":
		return lineEditor
	case "vi", "vim", "nvim", "view", "gvim", "less", "more":
		return plusCommands
	case "poetry", "pipenv", "pdm", "hatch", "rye", "uv", "bundle", "conda", "mamba", "dotenvx":
		return runner
	case "trap", "export", "declare", "typeset", "local", "readonly", "alias", "unset", "set", "ulimit", "enable", "complete":
		return allData
	}
	if lang, ok := languages[name]; ok {
		return lang.uses
	}
	return nil
}

// Canonical is the name that the tables and rules have for a program: python3.12 is python.
func Canonical(name string) string {
	trimmed := strings.TrimRight(name, "0123456789.-")
	if table[name] != nil || handler(name) != nil {
		if lang, ok := languages[name]; ok && lang.as != "" {
			return lang.as
		}
		if table[name] == nil || table[trimmed] != table[name] {
			return name
		}
		return trimmed // such as pip3
	}
	if trimmed != "" && trimmed != name {
		if table[trimmed] != nil || handler(trimmed) != nil {
			return Canonical(trimmed)
		}
	}
	return name
}

func allData(_ string, args []shell.Field) []Use {
	uses := make([]Use, len(args))
	for i, arg := range args {
		uses[i] = Use{Kind: Data, Text: arg.Text, Glob: arg.Glob}
	}
	return uses
}

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
