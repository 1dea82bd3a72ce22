package guard

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// lists are options by which programs are told of a file with the names of those that they read.
var lists = map[string]bool{"-T": true, "--files-from": true, "--files0-from": true, "-files0-from": true, "--verbatim-files-from": true}

// listedIn decides on the paths in files that a program reads names from, as far as the same command line has written those.
func (a *analysis) listedIn(c *shell.Call, argv []string) {
	for i, arg := range argv[1:] {
		option, file, has := strings.Cut(arg, "=")
		switch {
		case lists[option] && has:
		case lists[arg] && i+2 < len(argv):
			file = argv[i+2]
		case strings.HasPrefix(arg, "-T") && len(arg) > 2:
			file = arg[2:]
		case len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && strings.HasSuffix(arg, "T") && i+2 < len(argv):
			file = argv[i+2]
		case c.Wrote() && argv[0] == "tar" && strings.Contains(argv[1], "T") && !strings.Contains(argv[1], "="):
			file = arg // the order of the letters is that of their values
		default:
			continue
		}
		content, _ := c.Written(file)
		for _, line := range strings.Split(content.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				a.path(&c.Place, Read, line, false, c.Texts())
			}
		}
	}
}

// withNames decides on what a command is with the names that its patterns match, of files that the same line wrote and that look
// like options.
func (a *analysis) withNames(c *shell.Call, name string) {
	var argv []shell.Field
	for i, f := range c.Argv {
		if i == 0 || !f.Glob || strings.Contains(strings.TrimPrefix(f.Text, "./"), "/") || strings.HasPrefix(f.Text, "./") {
			continue
		}
		for _, file := range c.Matching(f.Text) {
			if base := path.Base(file); strings.HasPrefix(base, "-") {
				argv = append(argv, shell.Field{Text: base})
			}
		}
	}
	if len(argv) == 0 {
		return
	}
	all := append([]shell.Field{}, c.Argv[0])
	for _, f := range c.Argv[1:] {
		if !f.Glob {
			all = append(all, f)
		}
	}
	c.Pipe(name, append(append(all, argv...), shell.Field{Text: "x"}), c.Stdin)
}

// keeping are the verbs of git by which it keeps what it is given, so that others print it.
var keeping = map[string]bool{"add": true, "commit": true, "hash-object": true, "tag": true, "notes": true, "config": true, "branch": true, "stash": true, "apply": true, "am": true,
	"update-index": true, "fast-import": true, "mktree": true, "mktag": true, "commit-tree": true, "replace": true, "remote": true, "update-ref": true, "symbolic-ref": true, "fetch": true, "pull": true, "bundle": true}

// shows notes that git prints what it has kept since before, in which it is like a file that is there.
func (a *analysis) shows(c *shell.Call, argv []string) {
	verb := ""
	for i, arg := range argv[1:] {
		switch {
		case strings.HasPrefix(arg, "--format"), strings.HasPrefix(arg, "--pretty"):
			return
		case verb == "" && !strings.HasPrefix(arg, "-") && argv[i] != "-C" && argv[i] != "-c":
			verb = arg
		}
	}
	a.kept = a.kept || keeping[verb]
	if (verb == "show" || verb == "cat-file") && !a.kept && !c.Output.Known && !c.Output.Piped {
		c.Output = shell.Stream{Piped: true, From: shell.From("git show")}
	}
}

// toolSettings follows settings that programs are told to keep, by which they start others later.
func (a *analysis) toolSettings(c *shell.Call, name string, argv []string) {
	switch name {
	case "go":
		if len(argv) > 3 && argv[1] == "env" && argv[2] == "-w" {
			set := *c
			set.Env = map[string]string{}
			for _, arg := range argv[3:] {
				if key, value, ok := strings.Cut(arg, "="); ok {
					set.Env[key] = value
				}
			}
			a.environment(&set)
		}
	case "git":
		if key, value := programs.GitSetting(argv[1:]); key != "" {
			section, rest, _ := strings.Cut(key, ".")
			sub := ""
			if dot := strings.LastIndexByte(rest, '.'); dot > 0 {
				sub, rest = ` "`+rest[:dot]+`"`, rest[dot+1:]
			}
			value = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(value)
			c.WriteMaybe(".git/config", shell.Stream{Piped: true, Text: "[" + section + sub + "]\n" + rest + ` = "` + value + "\"\n", From: shell.From("git config")})
		}
	}
}
