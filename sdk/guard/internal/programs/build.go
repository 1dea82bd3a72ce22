package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var npmSpec = getopt.Parse("C=g w=d c=c --global= --prefix=w --cwd=g --dir=g --workspace=d --filter=d --location=d --registry=d --tag=d --otp=d --loglevel=d --userconfig=r --globalconfig=r --cache=w --script-shell=c --call=c --omit=d --include=d --package=d --access=d")

// makeVars finds the variables that hold code; the rest is as the table says.
func makeVars(name string, args []shell.Field) []Use {
	uses := table[name].uses(args)
	if file, ok := Options(name, shell.Texts(args)).Value("-f", "--file", "--makefile"); ok && (file == "-" || file == "/dev/stdin") {
		uses = append(uses, Use{Kind: Input, Lang: "make"})
	}
	for _, arg := range args {
		variable, value, ok := strings.Cut(arg.Text, "=")
		variable = strings.TrimRight(variable, ":+?!")
		if ok && (variable == "SHELL" || variable == "CC" || variable == "CXX" || variable == "MAKE" || variable == "AR") {
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: value})
		} else if ok && strings.Contains(value, "$(shell ") {
			uses = append(uses, Use{Kind: Code, Lang: "make", Text: value})
		}
	}
	return uses
}

// npm may start a command behind exec, x or dlx.
func npm(name string, args []shell.Field) []Use {
	parsed := npmSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		switch {
		case opt.Has && opt.Roles != "":
			use := Use{Kind: Kind(opt.Roles[0]), Text: opt.Value}
			if use.Kind == Code {
				use.Lang = "sh"
			}
			uses = append(uses, use)
		case name == "bun" && (opt.Name == "-e" || opt.Name == "--eval" || opt.Name == "-p" || opt.Name == "--print") && opt.Arg+1 < len(args):
			uses = append(uses, Use{Kind: Code, Lang: "node", Text: args[opt.Arg+1].Text})
		case opt.Has && !dataOptions[opt.Name]:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	for n, i := range parsed.Operands {
		text := args[i].Text
		if n == 0 && (text == "exec" || text == "x" || text == "dlx") && len(parsed.Operands) > 1 {
			return append(uses, Use{Kind: Command, Argv: args[parsed.Operands[1]:]})
		}
		if n > 0 && i > 0 && args[i-1].Text == "--" {
			return append(uses, unknown(args[i:])...) // what a script of the package gets
		}
		if n > 0 && !Remote(text) {
			uses = append(uses, Use{Kind: Shape, Text: text, Glob: args[i].Glob})
		}
	}
	return uses
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
