package programs

import (
	"strings"

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

// find takes starting points, then an expression.
func find(_ string, args []shell.Field) []Use {
	var uses []Use
	i := 0
	for ; i < len(args); i++ {
		text := args[i].Text
		if text == "-H" || text == "-L" || text == "-P" || strings.HasPrefix(text, "-O") {
			continue
		}
		if text == "-D" {
			i++
			continue
		}
		if strings.HasPrefix(text, "-") || text == "(" || text == "!" {
			break
		}
		uses = append(uses, Use{Kind: List, Text: text, Glob: args[i].Glob})
	}
	for ; i < len(args); i++ {
		switch test := args[i].Text; test {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end].Text != ";" && !(args[end].Text == "+" && args[end-1].Text == "{}") {
				end++
			}
			uses = append(uses, Use{Kind: Command, Argv: placeholders(args[i+1:min(end, len(args))], "{}")})
			i = end
		case "-fprint", "-fprint0", "-fls":
			uses, i = next(uses, Write, args, i)
		case "-fprintf":
			uses, i = next(uses, Write, args, i)
			i++
		case "-newer", "-anewer", "-cnewer", "-samefile", "-files0-from":
			uses, i = next(uses, Read, args, i)
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-printf",
			"-type", "-xtype", "-size", "-perm", "-user", "-group", "-uid", "-gid", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin",
			"-maxdepth", "-mindepth", "-links", "-inum", "-fstype", "-used", "-regextype", "-context":
			i++
		default:
			if strings.HasPrefix(test, "-newer") {
				uses, i = next(uses, Read, args, i)
			}
		}
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
		out[i] = shell.Field{Text: strings.ReplaceAll(f.Text, mark, shell.Unknown), Glob: f.Glob}
	}
	return out
}

// fd is find with other words.
func fd(_ string, args []shell.Field) []Use {
	var uses []Use
	operands := 0
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "-x" || text == "-X" || text == "--exec" || text == "--exec-batch":
			return append(uses, Use{Kind: Command, Argv: placeholders(args[i+1:], "{}")})
		case text == "-e" || text == "-t" || text == "-d" || text == "-E" || text == "-g" || text == "-S" || text == "-j":
			i++
		case text == "--base-directory" || text == "-C" || text == "--search-path":
			uses, i = next(uses, List, args, i)
		case strings.HasPrefix(text, "-"):
		default:
			if operands++; operands > 1 {
				uses = append(uses, Use{Kind: List, Text: text, Glob: args[i].Glob})
			}
		}
	}
	return uses
}

// xargs starts a command with words of its input appended, or in the place of a mark.
func xargs(_ string, args []shell.Field) []Use {
	spec := xargsSpec
	parsed := spec.Parse(shell.Texts(args))
	var uses []Use
	if file, ok := parsed.Value("-a", "--arg-file"); ok {
		uses = append(uses, Use{Kind: Read, Text: file})
	}
	if len(parsed.Operands) == 0 {
		return uses
	}
	argv := args[parsed.Operands[0]:]
	mark, _ := parsed.Value("-I", "-J")
	for _, opt := range parsed.Options {
		if opt.Name == "-i" || opt.Is("--replace") {
			if mark = opt.Value; mark == "" {
				mark = "{}"
			}
		}
	}
	if mark != "" {
		return append(uses, Use{Kind: Command, Argv: argv, Items: true, Text: mark})
	}
	return append(uses, Use{Kind: Command, Argv: argv, Items: true})
}

// parallel is xargs whose items can also stand behind ":::".
func parallel(_ string, args []shell.Field) []Use {
	parsed := parallelSpec.Parse(shell.Texts(args))
	if len(parsed.Operands) == 0 {
		return []Use{{Kind: Input, Lang: "sh"}}
	}
	start := parsed.Operands[0]
	argv := args[start:]
	var items []shell.Field
	for i, f := range argv {
		if strings.HasPrefix(f.Text, ":::") {
			argv, items = argv[:i], argv[i+1:]
			break
		}
	}
	if len(argv) == 0 {
		var uses []Use
		for _, item := range items {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: item.Text})
		}
		return uses
	}
	// GNU parallel hands the words to a shell.
	line := strings.Join(shell.Texts(argv), " ")
	if len(items) == 0 {
		return []Use{{Kind: Command, Argv: argv, Items: true}, {Kind: Code, Lang: "sh", Text: line}}
	}
	uses := make([]Use, 0, len(items))
	for _, item := range items {
		code := line + " " + item.Text
		if strings.Contains(line, "{}") {
			code = strings.ReplaceAll(line, "{}", item.Text)
		}
		uses = append(uses, Use{Kind: Code, Lang: "sh", Text: code})
		if len(uses) > 16 {
			break
		}
	}
	return append(uses, Use{Kind: Command, Argv: argv, Items: true})
}

// env sets variables, and may change the directory, before it starts a command.
func env(_ string, args []shell.Field) []Use {
	parsed := envSpec.Parse(shell.Texts(args))
	var uses []Use
	dir, _ := parsed.Value("-C", "--chdir")
	if dir != "" {
		uses = append(uses, Use{Kind: Enter, Text: dir})
	}
	vars := map[string]string{}
	at := parsed.Operands
	for len(at) > 0 {
		name, value, ok := strings.Cut(args[at[0]].Text, "=")
		if !ok {
			break
		}
		vars[name], at = value, at[1:]
	}
	if split, ok := parsed.Value("-S", "--split-string"); ok {
		code := split
		for _, i := range parsed.Operands {
			code += " " + args[i].Text
		}
		return append(uses, Use{Kind: Code, Lang: "sh", Text: code})
	}
	if len(at) == 0 {
		return uses
	}
	return append(uses, Use{Kind: Command, Argv: args[at[0]:], Env: vars, Dir: dir})
}

// dd has operands of the form name=value.
func dd(_ string, args []shell.Field) []Use {
	var uses []Use
	for _, arg := range args {
		switch name, value, _ := strings.Cut(arg.Text, "="); name {
		case "if":
			uses = append(uses, Use{Kind: Read, Text: value, Glob: arg.Glob})
		case "of":
			uses = append(uses, Use{Kind: Write, Text: value, Glob: arg.Glob})
		default:
			uses = append(uses, Use{Kind: Data, Text: arg.Text})
		}
	}
	return uses
}

// ln makes links: where they are is written, where they point to counts from there.
func ln(_ string, args []shell.Field) []Use {
	parsed := lnSpec.Parse(shell.Texts(args))
	var uses []Use
	at := parsed.Operands
	dir, hasDir := parsed.Value("-t", "--target-directory")
	if !hasDir && len(at) > 1 {
		dir = args[at[len(at)-1]].Text
		at = at[:len(at)-1]
	}
	if dir != "" {
		uses = append(uses, Use{Kind: Write, Text: dir})
	}
	symbolic := parsed.Has("-s", "--symbolic") && !parsed.Has("-r", "--relative")
	for _, i := range at {
		target := args[i].Text
		if symbolic && !strings.HasPrefix(target, "/") && dir != "" {
			base := dir
			if !hasDir && !strings.HasSuffix(dir, "/") && dir != "." && dir != ".." {
				base = dir[:strings.LastIndexByte(dir, '/')+1]
			}
			target = strings.TrimSuffix(base, "/") + "/" + target
			if base == "" {
				target = args[i].Text
			}
		}
		uses = append(uses, Use{Kind: Read, Text: target, Glob: args[i].Glob})
	}
	return uses
}

// flock starts a command, or code behind -c, while it holds a lock.
func flock(_ string, args []shell.Field) []Use {
	parsed := flockSpec.Parse(shell.Texts(args))
	if len(parsed.Operands) == 0 {
		return nil
	}
	first := parsed.Operands[0]
	uses := []Use{{Kind: Write, Text: args[first].Text}}
	rest := args[first+1:]
	if len(rest) > 1 && (rest[0].Text == "-c" || rest[0].Text == "--command") {
		return append(uses, Use{Kind: Code, Lang: "sh", Text: rest[1].Text})
	}
	if len(rest) > 0 {
		uses = append(uses, Use{Kind: Command, Argv: rest})
	}
	return uses
}

// watch hands its words to a shell.
func watch(_ string, args []shell.Field) []Use {
	parsed := watchSpec.Parse(shell.Texts(args))
	if len(parsed.Operands) == 0 {
		return nil
	}
	words := args[parsed.Operands[0]:]
	if parsed.Has("-x", "--exec") {
		return []Use{{Kind: Command, Argv: words}}
	}
	return []Use{{Kind: Code, Lang: "sh", Text: strings.Join(shell.Texts(words), " ")}}
}

// schedule is a program that runs code later: from its standard input or from a file.
func schedule(name string, args []shell.Field) []Use {
	lang := "sh"
	if name == "crontab" {
		lang = "cron"
	}
	parsed := scheduleSpec.Parse(shell.Texts(args))
	if file, ok := parsed.Value("-f"); ok {
		return []Use{{Kind: Script, Lang: lang, Text: file}}
	}
	if parsed.Has("-l", "-r", "-d", "-c", "-e") {
		return nil
	}
	if name == "crontab" && len(parsed.Operands) > 0 && args[parsed.Operands[0]].Text != "-" {
		return []Use{{Kind: Script, Lang: lang, Text: args[parsed.Operands[0]].Text}}
	}
	return []Use{{Kind: Input, Lang: lang}}
}

func source(_ string, args []shell.Field) []Use {
	var uses []Use
	for i, arg := range args {
		if i == 0 {
			uses = append(uses, Use{Kind: Script, Text: arg.Text, Glob: arg.Glob, Lang: "sh"})
			continue
		}
		uses = append(uses, Use{Kind: Shape, Text: arg.Text})
	}
	return uses
}

// multiplexer looks for the command that a terminal multiplexer starts: words that aren't options may be one.
func multiplexer(name string, args []shell.Field) []Use {
	uses := unknown(args)
	for i, arg := range args {
		text := arg.Text
		if strings.HasPrefix(text, "-") {
			continue
		}
		if strings.ContainsAny(text, " \t\n") {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: text})
		} else if i > 0 {
			uses = append(uses, Use{Kind: Command, Argv: args[i:]})
		}
	}
	return uses
}

// plusCommands are the arguments of editors and pagers that begin with "+" and hold a command.
func plusCommands(name string, args []shell.Field) []Use {
	p := table[name]
	var uses []Use
	var rest []shell.Field
	for _, arg := range args {
		if code, ok := strings.CutPrefix(arg.Text, "+"); ok {
			uses = append(uses, Use{Kind: Code, Lang: "vim", Text: code})
			continue
		}
		rest = append(rest, arg)
	}
	return append(uses, p.uses(rest)...)
}

// lineEditor is an editor that takes its commands from its standard input.
func lineEditor(name string, args []shell.Field) []Use {
	uses := []Use{{Kind: Input, Lang: "vim"}}
	if table[name] != nil {
		return append(uses, plusCommands(name, args)...)
	}
	for _, arg := range args {
		if code, ok := strings.CutPrefix(arg.Text, "!"); ok {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: code})
		} else if !strings.HasPrefix(arg.Text, "-") {
			uses = append(uses, Use{Kind: Write, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}

// daemon starts the program that an option names, with the operands.
func daemon(_ string, args []shell.Field) []Use {
	parsed := daemonSpec.Parse(shell.Texts(args))
	program, ok := parsed.Value("-a", "--startas")
	if !ok {
		program, ok = parsed.Value("-x", "--exec")
	}
	if !ok {
		return unknown(args)
	}
	argv := []shell.Field{{Text: program}}
	for _, i := range parsed.Operands {
		argv = append(argv, args[i])
	}
	return []Use{{Kind: Command, Argv: argv}}
}

// deno runs files, and code behind the verb eval.
func deno(_ string, args []shell.Field) []Use {
	for i, arg := range args {
		if arg.Text == "eval" {
			var uses []Use
			for _, code := range args[i+1:] {
				if !strings.HasPrefix(code.Text, "-") {
					uses = append(uses, Use{Kind: Code, Lang: "node", Text: code.Text})
				}
			}
			return uses
		}
		if !strings.HasPrefix(arg.Text, "-") {
			break
		}
	}
	return unknown(args)
}

// databaseClient also takes its commands from its standard input.
func databaseClient(name string, args []shell.Field) []Use {
	return append(table[name].uses(args), Use{Kind: Input, Lang: "sql"})
}
