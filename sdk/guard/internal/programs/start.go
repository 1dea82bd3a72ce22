package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	envSpec      = stop(getopt.Parse("u=d C=g S=c P=d --unset=d --chdir=g --split-string=c"))
	flockSpec    = stop(getopt.Parse("w=d E=d --timeout=d --wait=d --conflict-exit-code=d"))
	watchSpec    = stop(getopt.Parse("n=d q=d e=d w=l i=d d=d s=d E=d --interval=d --equexit=d --exts=d --watch=l --ignore=d --debounce=d --signal=d --env=d --shell=d"))
	daemonSpec   = getopt.Parse("x=d a=d n=d p=w u=d g=d c=d r=g d=g s=d R=d N=d k=d --exec=d --startas=d --name=d --pidfile=w --user=d --group=d --chuid=d --chroot=g --chdir=g --signal=d --retry=d --nicelevel=d --umask=d")
	scheduleSpec = getopt.Parse("f=k q=d t=d u=d")
)

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
	for _, opt := range parsed.Options {
		if opt.Has && (opt.Name == "-S" || opt.Is("--split-string")) {
			code := opt.Value
			for _, arg := range args[opt.At+1:] {
				code += " " + quote(arg.Text)
			}
			return append(uses, Use{Kind: Code, Lang: "sh", Text: code})
		}
	}
	if len(at) == 0 {
		return uses
	}
	return append(uses, Use{Kind: Command, Argv: args[at[0]:], Env: vars, Dir: dir})
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

// runner is a tool that starts a command behind the verb run or exec.
func runner(name string, args []shell.Field) []Use {
	for i, arg := range args {
		if arg.Text == "run" || arg.Text == "exec" {
			rest := args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
				value := !strings.Contains(rest[0].Text, "=") && (rest[0].Text == "-n" || rest[0].Text == "--with" || rest[0].Text == "--python" || rest[0].Text == "-p")
				if rest = rest[1:]; value && len(rest) > 0 {
					rest = rest[1:]
				}
			}
			uses := unknown(args[:i])
			if len(rest) > 0 {
				uses = append(uses, Use{Kind: Command, Argv: rest})
			}
			return uses
		}
		if !strings.HasPrefix(arg.Text, "-") {
			break
		}
	}
	if p := table[name]; p != nil && p.style != "stop" {
		return p.uses(args)
	}
	return unknown(args)
}

// quote writes a word so that a shell reads it as it is.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
