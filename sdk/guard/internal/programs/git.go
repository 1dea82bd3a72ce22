package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	gitSpec = stop(getopt.Parse("C=g c=d --git-dir=g --work-tree=g --namespace=d --exec-path= --super-prefix=d --config-env=d --attr-source=d"))
	gitSub  = getopt.Parse("m=d F=r C=d c=d t=d S=d G=d n=d b=d B=d o=d O= e=d f=r x=c L=d s= X=d u= j=d U=d A=d W= --message=d --file=r --author=d --date=d --since=d --until=d --after=d --before=d " +
		"--grep=d --format=d --pretty=d --max-count=d --skip=d --output=w --output-directory=w --exec=c --extcmd=c --upload-pack=c --receive-pack=c --open-files-in-pager=c " +
		"--env-filter=c --tree-filter=c --index-filter=c --parent-filter=c --msg-filter=c --commit-filter=c --tag-name-filter=c --depth=d --branch=d --origin=d --reference=r " +
		"--template=r --separate-git-dir=w --points-at=d --sort=d --cleanup=d --trailer=d --fixup=d --squash=d --strategy=d --strategy-option=d --onto=d --default=d --prefix=d --inter-hunk-context=d --word-diff-regex=d --diff-filter=d --blob=d --config=d --directory=d --exclude=d --include=d --shallow-since=d --filter=d --jobs=d --pathspec-from-file=r")
	gitOutput = gitSub.With("o=w")
	gitGrep   = gitSub.With("O=")
	gitClone  = gitSub.With("u=c o=d c=d")
)

// git is global options, a verb, and what the verb takes.
func git(_ string, args []shell.Field) []Use {
	parsed := gitSpec.Parse(shell.Texts(args))
	var uses []Use
	aliases := map[string]string{}
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has:
		case opt.Name == "-c":
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitConfig(key, value)...)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = value
			}
		case opt.Roles == "g":
			uses = append(uses, Use{Kind: Enter, Text: opt.Value})
		case opt.Name == "--exec-path":
			uses = append(uses, Use{Kind: Script, Text: opt.Value})
		}
	}
	if len(parsed.Operands) == 0 {
		return uses
	}
	start := parsed.Operands[0]
	verb, rest := args[start].Text, args[start+1:]
	if value, ok := aliases[strings.ToLower(verb)]; ok && !strings.HasPrefix(value, "!") {
		argv := []shell.Field{{Text: "git"}}
		for _, word := range strings.Fields(value) {
			argv = append(argv, shell.Field{Text: word})
		}
		return append(uses, Use{Kind: Command, Argv: append(argv, rest...)})
	}
	return append(uses, gitVerb(verb, rest)...)
}

// gitConfig is what setting a key does: many values are commands.
func gitConfig(key, value string) []Use {
	key = strings.ToLower(key)
	last := key
	if i := strings.LastIndexByte(key, '.'); i > 0 {
		last = key[i+1:]
	}
	section, _, _ := strings.Cut(key, ".")
	code := false
	switch last {
	case "pager", "editor", "sshcommand", "fsmonitor", "askpass", "external", "textconv", "command", "driver", "clean", "smudge", "process",
		"cmd", "helper", "program", "uploadpack", "receivepack", "gitproxy", "difffilter", "packobjectshook", "defaultkeycommand", "guitool":
		code = value != "true" && value != "false" && value != ""
	case "hookspath", "templatedir", "path", "worktree", "excludesfile", "attributesfile":
		return []Use{{Kind: Shape, Text: value}}
	}
	switch {
	case section == "alias":
		if command, ok := strings.CutPrefix(value, "!"); ok {
			return []Use{{Kind: Code, Lang: "sh", Text: command}}
		}
		argv := []shell.Field{{Text: "git"}}
		for _, word := range strings.Fields(value) {
			argv = append(argv, shell.Field{Text: word})
		}
		return []Use{{Kind: Command, Argv: argv}}
	case section == "credential" && !strings.HasPrefix(value, "!") && !strings.Contains(value, "/"):
	case code || section == "pager":
		return []Use{{Kind: Code, Lang: "sh", Text: strings.TrimPrefix(value, "!")}}
	}
	return nil
}

// gitVerb is what the arguments of a verb are for.
func gitVerb(verb string, rest []shell.Field) []Use {
	switch {
	case verb == "bisect" && len(rest) > 1 && rest[0].Text == "run":
		return []Use{{Kind: Command, Argv: rest[1:]}}
	case verb == "submodule" && len(rest) > 1 && rest[0].Text == "foreach":
		words := rest[1:]
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
			words = words[1:]
		}
		return []Use{{Kind: Code, Lang: "sh", Text: strings.Join(shell.Texts(words), " ")}}
	}
	spec := gitSub
	switch verb {
	case "clone", "fetch", "pull", "ls-remote":
		spec = gitClone
	case "archive", "format-patch", "bundle", "diff", "log":
		spec = gitOutput
	case "grep":
		spec = gitGrep
	}
	parsed := spec.Parse(shell.Texts(rest))
	var uses []Use
	for _, opt := range parsed.Options {
		use := Use{Kind: Shape, Text: opt.Value}
		switch {
		case verb == "grep" && opt.Name == "-O":
			if text := rest[opt.Arg].Text; strings.HasPrefix(text, "-O") {
				uses = append(uses, Use{Kind: Code, Lang: "sh", Text: text[2:]})
			}
			continue
		case !opt.Has:
			continue
		case (verb == "clone" || verb == "submodule") && (opt.Name == "-c" || opt.Name == "--config"):
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitConfig(key, value)...)
			continue
		case verb == "config" && (opt.Name == "-f" || opt.Name == "--file"):
			use.Kind = Write
		case opt.Roles != "":
			use.Kind = Kind(opt.Roles[0])
		case dataOptions[opt.Name]:
			use.Kind = Data
		}
		if use.Kind == Code {
			use.Lang = "sh"
		}
		uses = append(uses, use)
	}
	return append(uses, gitOperands(verb, parsed, rest)...)
}

// gitOperands is what the operands of a verb are for: revisions, paths, URLs.
func gitOperands(verb string, parsed getopt.Args, rest []shell.Field) []Use {
	var uses []Use
	operands := parsed.Operands
	if verb == "config" {
		words := make([]string, 0, len(operands))
		for _, i := range operands {
			if text := rest[i].Text; text != "set" && text != "--add" {
				words = append(words, text)
			}
		}
		if len(words) > 1 {
			return gitConfig(words[0], words[1])
		}
		return nil
	}
	if verb == "grep" && !parsed.Has("-e", "-f") && len(operands) > 0 {
		operands = operands[1:]
	}
	for n, i := range operands {
		text := rest[i].Text
		use := Use{Kind: Shape, Text: text, Glob: rest[i].Glob}
		switch {
		case strings.HasPrefix(text, "ext::"):
			use = Use{Kind: Command, Argv: gitExt(strings.TrimPrefix(text, "ext::"))}
		case Remote(text), strings.HasPrefix(text, ":"):
			use.Kind = Data
		case verb == "clone" && n == 1, verb == "init", verb == "worktree" && n == 1:
			use.Kind = Write
		case verb == "show" || verb == "cat-file" || verb == "rev-parse" || verb == "diff" || verb == "log" || verb == "blame":
			if strings.Contains(text, ":") && !strings.HasPrefix(text, "/") {
				use.Kind = Data
			}
		case verb == "push" || verb == "check-ignore" || verb == "check-ref-format" || verb == "tag" || verb == "branch" || verb == "switch":
			use.Kind = Data
		}
		uses = append(uses, use)
	}
	return uses
}

// gitExt splits the command in an address of git's transport ext: "% " is a space inside a word, "%%" a percent sign.
func gitExt(command string) []shell.Field {
	var argv []shell.Field
	var word strings.Builder
	for i := 0; i <= len(command); i++ {
		switch {
		case i == len(command) || command[i] == ' ':
			if word.Len() > 0 {
				argv = append(argv, shell.Field{Text: word.String()})
			}
			word.Reset()
		case command[i] == '%' && i+1 < len(command):
			i++
			word.WriteByte(command[i])
		default:
			word.WriteByte(command[i])
		}
	}
	return argv
}
