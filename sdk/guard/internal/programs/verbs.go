package programs

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	fzfSpec     = getopt.Parse("q=d f=d d=d n=d e= m= --query=d --filter=d --delimiter=d --nth=d --with-nth=d --preview=c --bind=b --prompt=d --header=d --preview-window=d --height=d --layout=d --color=d --history=w --expect=d --with-shell=c --listen=d")
	sopsSpec    = getopt.Parse("k=d p=d --output=w --config=r --input-type=d --output-type=d --user=d --set=d --extract=d --encrypted-regex=d")
	saltSpec    = getopt.Parse("c=l l=d t=d L=d E=d G=d C=d --config-dir=l --log-level=d --timeout=d --out=d --out-file=w --file-root=l --pillar-root=l")
	ansibleSpec = getopt.Parse("a=d m=d i=s u=d e=s l=d f=d t=d c=d M=l --args=d --module-name=d --inventory=s --user=d --extra-vars=s --limit=d --forks=d --tree=d --connection=d --module-path=l --private-key=r --vault-password-file=r")
	// fzfActions start what stands in their brackets, or behind their colon up to the end.
	fzfActions = regexp.MustCompile(`(?:execute(?:-silent|-multi)?|become|reload(?:-sync)?|preview|transform(?:-\w+)*|change-preview)(?:\(([^)]*)|\[([^\]]*)|\{([^}]*)|:(.*))`)
	// cargoPrograms are the keys of cargo's configuration that name a program.
	cargoPrograms = regexp.MustCompile(`(?:^|[.{,\s])"?(?:rustc|rustdoc|rustc-wrapper|rustc-workspace-wrapper|runner|linker|credential-provider)"?\s*=\s*(.*)$`)
)

// sh is code for the shell.
func sh(text string) Use { return Use{Kind: Code, Lang: "sh", Text: text} }

// known adds what the values of options are for, and what options with a role that only the caller knows are for.
func known(parsed getopt.Args, own func(getopt.Option) []Use) (uses []Use) {
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has || opt.Roles == "d":
		case opt.Roles == "c":
			uses = append(uses, sh(opt.Value))
		case opt.Roles == "b":
			uses = append(uses, own(opt)...)
		case opt.Roles != "":
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		case !dataOptions[opt.Name]:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		}
	}
	return uses
}

// fzf starts commands to show what is chosen, and on keys and events.
func fzf(_ string, args []shell.Field) []Use {
	return known(fzfSpec.Parse(shell.Texts(args)), func(opt getopt.Option) (uses []Use) {
		for _, m := range fzfActions.FindAllStringSubmatch(opt.Value, -1) {
			uses = append(uses, sh(m[1]+m[2]+m[3]+m[4]))
		}
		return uses
	})
}

// sops starts a command that finds secrets in its environment or in a file.
func sops(_ string, args []shell.Field) []Use {
	parsed := sopsSpec.Parse(shell.Texts(args))
	uses := known(parsed, nil)
	for n, i := range parsed.Operands {
		verb := args[parsed.Operands[0]].Text
		if n == 2 && (verb == "exec-env" || verb == "exec-file") {
			return append(uses, sh(args[i].Text))
		}
		uses = append(uses, Use{Kind: Shape, Text: args[i].Text, Glob: args[i].Glob})
	}
	return uses
}

// salt has functions of which some run commands: cmd.run and its like.
func salt(_ string, args []shell.Field) []Use {
	parsed := saltSpec.Parse(shell.Texts(args))
	uses := known(parsed, nil)
	for n, i := range parsed.Operands {
		if n > 0 && strings.HasPrefix(args[parsed.Operands[n-1]].Text, "cmd.") {
			_, code, named := strings.Cut(args[i].Text, "cmd=")
			if !named {
				code = args[i].Text
			}
			return append(uses, sh(code))
		}
		uses = append(uses, Use{Kind: Shape, Text: args[i].Text})
	}
	return uses
}

// ansible runs a module, which is a command if none is named.
func ansible(_ string, args []shell.Field) []Use {
	parsed := ansibleSpec.Parse(shell.Texts(args))
	uses := known(parsed, nil)
	module, _ := parsed.Value("-m", "--module-name")
	switch code, _ := parsed.Value("-a", "--args"); strings.TrimPrefix(module, "ansible.builtin.") {
	case "", "command", "shell", "raw", "script", "expect":
		uses = append(uses, sh(code))
	default:
		uses = append(uses, Use{Kind: Shape, Text: code})
	}
	return uses
}

// maven has a plugin that runs the program of a property.
func maven(name string, args []shell.Field) []Use {
	uses := table()["mvn"].uses(args, shell.Texts(args))
	var program, words string
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg.Text, "-Dexec.executable="); ok {
			program = value
		}
		if value, ok := strings.CutPrefix(arg.Text, "-Dexec.args="); ok {
			words = value
		}
	}
	if program != "" {
		uses = append(uses, sh(program+" "+words))
	}
	return uses
}

// cargo is told of programs by its configuration.
func cargo(name string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	uses := table()[name].uses(args, texts)
	for _, opt := range Options(name, texts).Options {
		if m := cargoPrograms.FindStringSubmatch(opt.Value); opt.Is("--config") && m != nil {
			command := strings.NewReplacer("[", "", "]", "", ",", " ", "}", "").Replace(m[1])
			if !strings.Contains(m[1], "[") {
				command = strings.Trim(strings.TrimSpace(command), `"'`)
			}
			uses = append(uses, sh(command))
		}
	}
	return uses
}

// evaluator is a compiler that also runs code: Crystal's behind the verb eval, Nim's behind --eval.
func evaluator(_ string, args []shell.Field) []Use {
	uses := unknown(args)
	for i, arg := range args {
		code, found := strings.CutPrefix(arg.Text, "--eval:")
		if !found {
			code, found = strings.CutPrefix(arg.Text, "--eval=")
		}
		if !found && arg.Text == "eval" && i == 0 {
			code, found = strings.Join(shell.Texts(args[1:]), " "), true
		}
		if found {
			uses = append(uses, Use{Kind: Code, Lang: "other", Text: code})
		}
	}
	return uses
}
