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
	gitCommit = gitSub.With("t=r")
	gitList   = gitSub.With("X=r x=d --exclude-from=r")
	gitInto   = gitSub.With("--prefix=w --directory=w")
	gitPick   = gitSub.With("x=")
	gitDaemon = gitSub.With("--base-path=l --interpolated-path=d --pid-file=w")
)

// git is global options, a verb, and what the verb takes.
func git(m *Memory, args []shell.Field, texts []string) []Use {
	parsed, uses := &m.parsed, m.take()
	gitSpec.Into(parsed, texts)
	var aliases map[string]string
	for _, opt := range parsed.Options {
		switch {
		case !opt.Has:
		case opt.Name == "-c":
			key, value, _ := strings.Cut(opt.Value, "=")
			uses = append(uses, gitConfig(key, value)...)
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				if aliases == nil {
					aliases = map[string]string{}
				}
				aliases[name] = value
			}
		case opt.Name == "--config-env":
			uses = append(uses, sh(shell.Unknown)) // what the environment holds may be a command
		case opt.Name != "-C" && opt.Roles == "g":
			uses = append(uses, Use{Kind: List, Text: opt.Value})
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
	return gitVerb(uses, parsed, verb, rest, texts[start+1:])
}

// plainGit is git for those who need its memory once.
func plainGit(_ string, args []shell.Field) []Use { return git(new(Memory), args, shell.Texts(args)) }

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
		"cmd", "helper", "update", "program", "uploadpack", "receivepack", "gitproxy", "difffilter", "packobjectshook", "defaultkeycommand", "guitool":
		code = value != "true" && value != "false" && value != "" && (last != "update" || strings.HasPrefix(value, "!"))
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

// GitSetting is the setting that git is told to keep, if it may start something later.
func GitSetting(args []string) (key, value string) {
	at := gitSpec.Parse(args).Operands
	if len(at) == 0 || args[at[0]] != "config" {
		return "", ""
	}
	rest := args[at[0]+1:]
	var words []string
	for _, i := range gitSub.Parse(rest).Operands {
		if rest[i] != "set" {
			words = append(words, rest[i])
		}
	}
	if len(words) < 2 || len(gitConfig(words[0], words[1])) == 0 && !strings.HasPrefix(words[0], "include") {
		return "", ""
	}
	return words[0], words[1]
}

// gitVerb adds what the arguments of a verb are for.
func gitVerb(uses []Use, parsed *getopt.Args, verb string, rest []shell.Field, texts []string) []Use {
	switch {
	case verb == "for-each-repo":
		at := gitSub.Parse(texts).Operands
		if len(at) > 0 {
			return append(uses, Use{Kind: Command, Argv: append([]shell.Field{{Text: "git"}}, rest[at[0]:]...)})
		}
	case verb == "bisect" && len(rest) > 1 && rest[0].Text == "run":
		return append(uses, Use{Kind: Command, Argv: rest[1:]})
	case verb == "submodule" && foreach(texts) > 0:
		words := rest[foreach(texts):]
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
			words = words[1:]
		}
		return append(uses, Use{Kind: Code, Lang: "sh", Text: strings.Join(shell.Texts(words), " ")})
	}
	spec := gitSub
	switch verb {
	case "clone", "fetch", "pull", "ls-remote":
		spec = gitClone
	case "archive", "format-patch", "bundle", "diff", "log", "mailsplit", "diagnose", "bugreport":
		spec = gitOutput
	case "grep":
		spec = gitGrep
	case "commit":
		spec = gitCommit
	case "ls-files":
		spec = gitList
	case "checkout-index", "apply", "am", "read-tree", "subtree":
		spec = gitInto
	case "cherry-pick", "clean":
		spec = gitPick
	case "daemon":
		spec = gitDaemon
	}
	spec.Into(parsed, texts)
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
	return gitOperands(uses, verb, parsed, rest)
}

// gitOperands adds what the operands of a verb are for: revisions, paths, URLs.
func gitOperands(uses []Use, verb string, parsed *getopt.Args, rest []shell.Field) []Use {
	operands := parsed.Operands
	if verb == "config" {
		words := make([]string, 0, len(operands))
		for _, i := range operands {
			if text := rest[i].Text; text != "set" && text != "--add" {
				words = append(words, text)
			}
		}
		if len(words) > 1 {
			uses = append(uses, gitConfig(words[0], words[1])...)
		}
		if len(words) > 1 && !parsed.Has("--get", "--get-all", "--get-regexp", "--list") || parsed.Has("--unset", "--unset-all", "--add", "--replace-all", "--edit", "-e", "--remove-section", "--rename-section") {
			switch {
			case parsed.Has("--global"):
				uses = append(uses, Use{Kind: Write, Text: ".gitconfig", Home: true})
			case parsed.Has("--system"):
				uses = append(uses, Use{Kind: Write, Text: "/etc/gitconfig"})
			}
		}
		return uses
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

// foreach is where the command of git submodule foreach begins, its options included; 0 if it is another command.
func foreach(texts []string) int {
	for i, text := range texts {
		if !strings.HasPrefix(text, "-") {
			if text == "foreach" {
				return i + 1
			}
			return 0
		}
	}
	return 0
}
