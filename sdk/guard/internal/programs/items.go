package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	xargsSpec    = stop(getopt.Parse("I=d J=d R=d S=d n=d L=d P=d s=d d=d E=d a=r --arg-file=r --max-args=d --max-lines=d --max-procs=d --max-chars=d --delimiter=d --process-slot-var=d"))
	parallelSpec = stop(getopt.Parse("j=d a=r I=d n=d N=d L=d S=d d=d C=d --jobs=d --colsep=d --delay=d --joblog=w --results=w --timeout=d --max-args=d --arg-file=r --workdir=g --tmpdir=w --retries=d"))
)

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
