package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	djangoSpec  = getopt.Parse("c=c i=d --command=c --interface=d --database=d --settings=d --pythonpath=g")
	flaskSpec   = stop(getopt.Parse("A=d e=r --app=d --env-file=r"))
	artisanSpec = getopt.Parse("--execute=c --env=d")
	mixSpec     = getopt.Parse("e=c r=s --eval=c --require=s")
)

// consoles are what scripts of frameworks do that are started by an interpreter: some of their verbs run code.
var consoles = map[string]special{"manage.py": django, "artisan": artisan, "rails": rails}

// django runs Python behind its verb shell, and SQL behind dbshell.
func django(_ string, args []shell.Field) []Use {
	verb := ""
	if len(args) > 0 {
		verb = args[0].Text
	}
	switch verb {
	case "shell", "shell_plus":
		return console("python", "python", djangoSpec, args[1:])
	case "dbshell":
		return append(unknown(args[1:]), Use{Kind: Input, Lang: "sql"})
	}
	return unknown(args)
}

// flask runs Python behind its verb shell.
func flask(_ string, args []shell.Field) []Use {
	parsed := flaskSpec.Parse(shell.Texts(args))
	if at := parsed.Operands; len(at) > 0 && args[at[0]].Text == "shell" {
		return append(known(parsed, nil), Use{Kind: Input, Lang: "python"})
	}
	return unknown(args)
}

// artisan runs PHP behind its verb tinker.
func artisan(_ string, args []shell.Field) []Use {
	if len(args) > 0 && args[0].Text == "tinker" {
		return console("php", "php", artisanSpec, args[1:])
	}
	return unknown(args)
}

// mix runs Elixir behind its verbs run and eval.
func mix(name string, args []shell.Field) []Use {
	if len(args) > 0 && args[0].Text == "run" {
		parsed := mixSpec.Parse(shell.Texts(args[1:]))
		if parsed.Has("-e", "--eval") {
			return console("other", "", mixSpec, args[1:])
		}
	}
	return table()[name].uses(args, shell.Texts(args))
}

// console is a program that runs the code that its options hold, or else that it reads, if it reads any.
func console(lang, input string, spec getopt.Spec, args []shell.Field) []Use {
	parsed := spec.Parse(shell.Texts(args))
	var uses []Use
	coded := input == ""
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has || opt.Roles == "d":
		case opt.Roles == "c":
			uses = append(uses, Use{Kind: Code, Lang: lang, Text: opt.Value})
			coded = true
		default:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	if !coded {
		uses = append(uses, Use{Kind: Input, Lang: input})
	}
	return uses
}

// script is what the arguments of a script are for that an interpreter starts.
func script(file string, args []shell.Field) []Use {
	name := file[strings.LastIndexByte(file, '/')+1:]
	if uses := consoles[name]; uses != nil {
		return uses(name, args)
	}
	return unknown(args)
}
