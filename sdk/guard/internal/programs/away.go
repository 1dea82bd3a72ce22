package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	adbSpec     = stop(getopt.Parse("s=d t=d H=d P=d L=d"))
	adbShell    = stop(getopt.Parse("e=d"))
	vagrantSpec = getopt.Parse("c=c --command=c")
)

// away is code that another machine's shell runs.
func away(words []string) Use {
	return Use{Kind: Code, Lang: "sh", Text: strings.Join(words, " "), Away: true}
}

// ssh runs the words behind the host there, as one line.
func ssh(name string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	uses := table()[name].uses(args, texts)
	if at := Options(name, texts).Operands; len(at) > 1 {
		uses = append(uses, away(texts[at[1]:]))
	}
	return uses
}

// adb works on a device. Some of its verbs copy between that and this machine.
func adb(_ string, args []shell.Field) []Use {
	parsed := adbSpec.Parse(shell.Texts(args))
	if len(parsed.Operands) == 0 {
		return nil
	}
	rest := args[parsed.Operands[0]+1:]
	var uses []Use
	local := func(kind Kind, from, to int) {
		for _, arg := range rest[min(from, len(rest)):max(min(from, len(rest)), min(to, len(rest)))] {
			if !strings.HasPrefix(arg.Text, "-") {
				uses = append(uses, Use{Kind: kind, Text: arg.Text, Glob: arg.Glob})
			}
		}
	}
	switch args[parsed.Operands[0]].Text {
	case "shell", "exec-out", "exec-in":
		if at := adbShell.Parse(shell.Texts(rest)).Operands; len(at) > 0 {
			return []Use{away(shell.Texts(rest[at[0]:]))}
		}
		return []Use{{Kind: Input, Lang: "sh", Away: true}}
	case "push":
		local(Read, 0, len(rest)-1)
	case "pull":
		if len(rest) > 1 {
			local(Write, len(rest)-1, len(rest))
		}
	case "install", "install-multiple", "install-multi-package", "sideload", "restore":
		local(Read, 0, len(rest))
	case "backup", "bugreport":
		local(Write, 0, len(rest))
	case "logcat", "devices", "wait-for-device", "get-state", "uninstall", "forward", "reverse", "connect", "disconnect", "start-server", "kill-server", "version":
	default:
		return unknown(rest)
	}
	return uses
}

// vagrant runs a command behind ssh -c, on its own machine.
func vagrant(_ string, args []shell.Field) []Use {
	uses := known(vagrantSpec.Parse(shell.Texts(args)), nil)
	for i := range uses {
		uses[i].Away = uses[i].Kind == Code
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg.Text, "-") && !strings.Contains(arg.Text, " ") {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text})
		}
	}
	return uses
}

// kubectl starts a command in a container behind "--", and copies from and to containers.
func kubectl(name string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	verb := ""
	if at := Options(name, texts).Operands; len(at) > 0 {
		verb = texts[at[0]]
	}
	var inside []Use
	for i, text := range texts {
		if text == "--" && (verb == "exec" || verb == "run" || verb == "debug" || verb == "rsh") {
			if i+1 < len(args) {
				inside = []Use{{Kind: Command, Argv: args[i+1:], Away: true}}
			}
			args, texts = args[:i], texts[:i]
			break
		}
	}
	uses := table()[name].uses(args, texts)
	for i, use := range uses {
		if use.Kind == Shape && (verb == "cp" || verb == "rsync") && podPath(use.Text) {
			uses[i].Kind = Data
		}
	}
	return append(uses, inside...)
}

// podPath says whether a word is pod:path or namespace/pod:path, as kubectl has it.
func podPath(word string) bool {
	pod, _, ok := strings.Cut(word, ":")
	return ok && pod != "" && pod[0] != '/' && pod[0] != '.' && pod[0] != '~' && strings.Count(pod, "/") < 2
}

// helm gives what it would install to a program first, where it is told of one.
func helm(name string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	uses := table()[name].uses(args, texts)
	renderer := ""
	for _, opt := range Options(name, texts).Options {
		switch {
		case opt.Is("--post-renderer"):
			renderer = quote(opt.Value) + renderer
		case opt.Is("--post-renderer-args"):
			renderer += " " + quote(opt.Value)
		}
	}
	if renderer != "" {
		uses = append(uses, sh("helm | "+renderer))
	}
	return uses
}
