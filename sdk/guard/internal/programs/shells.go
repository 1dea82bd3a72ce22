package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/lang"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// shellSpecs are the options of shells that go by rules of their own: of those that take code, only some stand for a script.
var shellSpecs = map[string]getopt.Spec{
	"fish": stop(getopt.Parse("c=c C=c d=d D=d f=d o=w --command=c --init-command=c --debug=d --debug-output=w --features=d --profile=w --profile-startup=w")),
	"nu": stop(getopt.Parse("c=c e=c I=l m=d t=d --commands=c --execute=c --config=k --env-config=k --plugin-config=r --plugins=s --include-path=l --table-mode=d " +
		"--error-style=d --log-level=d --log-target=d --threads=d")),
	"xonsh": stop(getopt.Parse("c=c D=d --rc=k --shell-type=d")),
}

// shellCode are long options of the other shells whose value is code.
var shellCode = set("--command --commands --init-command --execute")

// shellUses says what a shell runs.
func shellUses(name string, args []shell.Field) []Use {
	var uses []Use
	if checking[name] && onlyChecks(args) {
		return checkedFile(args)
	}
	if spec, ok := shellSpecs[name]; ok {
		uses = otherShell(name, spec, args)
	} else {
		uses = posixShell(args)
	}
	if lang.IsShell(name) {
		for i := range uses {
			if uses[i].Lang == "sh" {
				uses[i].Lang = name
			}
		}
	}
	return uses
}

// checking are the shells that run nothing of a script with the option -n.
var checking = set("sh bash dash zsh ksh mksh ash rbash")

// onlyChecks says whether a shell is told to look for errors of syntax alone, by options that can't mean anything else besides.
func onlyChecks(args []shell.Field) bool {
	n := false
	for _, arg := range args {
		if strings.HasPrefix(arg.Text, shell.Unknown) {
			return false
		}
		if len(arg.Text) < 2 || arg.Text[0] != '-' && arg.Text[0] != '+' {
			break
		}
		if arg.Text[0] == '+' || strings.Trim(arg.Text[1:], "nvxeu") != "" {
			return false
		}
		n = n || strings.Contains(arg.Text, "n")
	}
	return n
}

// checkedFile is the file that such a shell reads.
func checkedFile(args []shell.Field) (uses []Use) {
	for i, arg := range args {
		switch {
		case len(uses) == 0 && len(arg.Text) > 1 && arg.Text[0] == '-':
		case len(uses) == 0:
			uses = append(uses, Use{Kind: Read, Text: arg.Text, Glob: arg.Glob})
		default:
			uses = append(uses, Use{Kind: Shape, Text: args[i].Text, Glob: arg.Glob})
		}
	}
	return uses
}

// otherShell takes the arguments of a shell apart whose options are known.
func otherShell(name string, spec getopt.Spec, args []shell.Field) (uses []Use) {
	parsed := spec.Parse(shell.Texts(args))
	params := []string{name}
	for _, i := range parsed.Operands {
		params = append(params, args[i].Text)
	}
	coded := parsed.Has("-h", "-v", "--help", "--version")
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has:
		case opt.Roles == "c":
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: opt.Value, Params: params})
			coded = coded || opt.Name == "-c" || strings.HasPrefix(opt.Name, "--c")
		case opt.Roles == "":
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value, Lang: "sh"})
		}
	}
	for n, i := range parsed.Operands {
		if n == 0 && !coded {
			uses = append(uses, Use{Kind: Script, Lang: "sh", Text: args[i].Text, Glob: args[i].Glob, Params: params[1:]})
			continue
		}
		uses = append(uses, Use{Kind: Shape, Text: args[i].Text, Glob: args[i].Glob})
	}
	if len(parsed.Operands) == 0 && !coded {
		uses = append(uses, Use{Kind: Input, Lang: "sh", Params: params})
	}
	return uses
}

// posixShell takes a shell's arguments apart: -c may stand anywhere in a cluster, and code is the first operand.
func posixShell(args []shell.Field) []Use {
	var uses []Use
	code, stdin, given := false, false, false
	i := 0
	for ; i < len(args); i++ {
		text := args[i].Text
		if text == "--" || text == "-" {
			i++
			break
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			break
		}
		if strings.HasPrefix(text, "--") {
			switch text {
			case "--rcfile", "--init-file":
				if i+1 < len(args) {
					uses = append(uses, Use{Kind: Script, Lang: "sh", Text: args[i+1].Text})
				}
				i++
			case "--command", "--commands":
				code = true
			case "--version", "--help":
				return uses
			}
			if option, text, has := strings.Cut(text, "="); has && shellCode[option] {
				uses = append(uses, Use{Kind: Code, Lang: "sh", Text: text})
				given = true
			}
			continue
		}
		code = code || strings.Contains(text, "c") && text[0] == '-'
		stdin = stdin || strings.Contains(text, "s")
		if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
			i++
		}
	}
	rest := args[min(i, len(args)):]
	switch {
	case code && len(rest) > 0:
		params := shell.Texts(rest[1:])
		if len(params) == 0 {
			params = []string{"bash"}
		}
		uses = append(uses, Use{Kind: Code, Lang: "sh", Text: rest[0].Text, Params: params})
	case given:
	case stdin || len(rest) == 0:
		uses = append(uses, Use{Kind: Input, Lang: "sh", Params: append([]string{"bash"}, shell.Texts(rest)...)})
		for _, arg := range rest {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	default:
		uses = append(uses, Use{Kind: Script, Lang: "sh", Text: rest[0].Text, Glob: rest[0].Glob, Params: shell.Texts(rest)})
		for _, arg := range rest[1:] {
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}
