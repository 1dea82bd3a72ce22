package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	m4Spec   = getopt.Parse("D=d U=d I=l B=d E= F=w R=r H=d L=d t=d l=d o=w s= g= --define=d --undefine=d --include=l --freeze-state=w --reload-state=r --debugfile=w --trace=d --prefix-builtins= --fatal-warnings=")
	roffSpec = getopt.Parse("m=d T=d r=d d=d o=d f=d F=l M=l I=l P=d L=d n=d w=d W=d D=d K=d U=")
)

// macros is m4, whose macros may run commands.
func macros(_ string, args []shell.Field) []Use {
	parsed := m4Spec.Parse(shell.Texts(args))
	uses := read(parsed, args, "m4")
	for _, opt := range parsed.Options {
		if _, value, ok := strings.Cut(opt.Value, "="); ok && (opt.Name == "-D" || opt.Is("--define")) && strings.Contains(value, " ") {
			uses = append(uses, sh(value)) // which a macro may run by its name
		}
	}
	return uses
}

// roff is a program that sets text. Requests in the text may run commands, if it is told that the text is safe.
func roff(_ string, args []shell.Field) []Use {
	parsed := roffSpec.Parse(shell.Texts(args))
	if !parsed.Has("-U") {
		uses := known(parsed, nil)
		for _, i := range parsed.Operands {
			uses = append(uses, Use{Kind: Read, Text: args[i].Text, Glob: args[i].Glob})
		}
		return uses
	}
	return read(parsed, args, "roff")
}

// read is a program that runs its operands as code, or its input if it has none.
func read(parsed getopt.Args, args []shell.Field, lang string) []Use {
	uses := known(parsed, nil)
	for _, i := range parsed.Operands {
		uses = append(uses, Use{Kind: Script, Lang: lang, Text: args[i].Text, Glob: args[i].Glob})
	}
	if len(parsed.Operands) == 0 {
		uses = append(uses, Use{Kind: Input, Lang: lang})
	}
	return uses
}
