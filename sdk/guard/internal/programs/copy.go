package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var lnSpec = getopt.Parse("t=w S=d --target-directory=w --suffix=d --backup=d")

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
