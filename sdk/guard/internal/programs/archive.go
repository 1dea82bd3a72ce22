package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var tarSpec = bare(getopt.Parse("f=w C=g T=r X=r I=c F=c b=d g=w H=d K=d L=d N=d V=d --file=w --directory=g --files-from=r --exclude-from=r --exclude=d " +
	"--use-compress-program=c --to-command=c --checkpoint-action=d --info-script=c --new-volume-script=c --rsh-command=c --rmt-command=c --transform=d --xform=d --strip-components=d --owner=d " +
	"--group=d --mode=d --mtime=d --format=d --label=d --newer=d --listed-incremental=w --index-file=w --warning=d --sort=d --exclude-vcs= --one-top-level="))

// tar reads or writes an archive, depending on its mode.
func tar(_ string, args []shell.Field) []Use {
	texts := shell.Texts(args)
	parsed := tarSpec.Parse(texts)
	creates := parsed.Has("-c", "-r", "-u", "-A", "--create", "--append", "--update")
	var uses []Use
	dir := ""
	for _, opt := range parsed.Options {
		if !opt.Has {
			if opt.Roles == "" && opt.Is("--absolute-names") {
				uses = append(uses, Use{Kind: Data, Text: opt.Name})
			}
			continue
		}
		if opt.Is("--checkpoint-action") {
			if code, ok := strings.CutPrefix(opt.Value, "exec="); ok {
				uses = append(uses, Use{Kind: Code, Lang: "sh", Text: code})
			}
			continue
		}
		switch kind := Kind(first(opt.Roles)); {
		case kind == Enter:
			dir = opt.Value
			uses = append(uses, Use{Kind: Enter, Text: opt.Value})
			if !creates {
				uses = append(uses, Use{Kind: Write, Text: opt.Value})
			}
		case kind == Write && !creates && (opt.Name == "-f" || opt.Is("--file")):
			uses = append(uses, Use{Kind: Read, Text: opt.Value})
		case kind == Code:
			uses = append(uses, Use{Kind: Code, Lang: "sh", Text: opt.Value})
		case kind == 0:
			uses = append(uses, Use{Kind: Shape, Text: opt.Value})
		default:
			uses = append(uses, Use{Kind: kind, Text: opt.Value})
		}
	}
	for _, i := range parsed.Operands {
		if !creates {
			continue // names of members
		}
		text := args[i].Text
		if dir != "" && !strings.HasPrefix(text, "/") {
			text = strings.TrimSuffix(dir, "/") + "/" + text
		}
		uses = append(uses, Use{Kind: Read, Text: text, Glob: args[i].Glob})
	}
	return uses
}
