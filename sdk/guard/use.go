package guard

import (
	"path"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxArguments limits the arguments of all commands.
const maxArguments = 1 << 14

// decideArguments decides on the arguments of a program.
func (a *analysis) decideArguments(c *shell.Call, name string) {
	dir, argv := "", shell.FieldTexts(c.Argv)
	if a.arguments += len(argv); a.arguments > maxArguments {
		a.VisitProblem(&c.Place, shell.Problem{Kind: shell.TooComplex, Reason: "the command has too many arguments to look at"})
		return
	}
	before := a.elsewhere
	defer func() { a.elsewhere = before }()
	a.elsewhere = before || !localStarters[name]
	for _, u := range programs.FindUses(name, c.Argv[1:]) {
		switch {
		case u.Kind == programs.Enter:
			dir, a.elsewhere = u.Text, true
		case u.Kind == programs.Command && u.Dir == "":
			u.Dir = dir
		}
		a.decideUse(c, name, argv, u)
	}
}

// decideUse decides on one argument by its purpose.
func (a *analysis) decideUse(c *shell.Call, name string, argv []string, u programs.Use) {
	switch u.Kind {
	case programs.Read:
		a.decidePath(&c.Place, Read, u.Text, u.Glob, argv)
	case programs.Write:
		a.decidePath(&c.Place, Write, u.Text, u.Glob, argv)
		recordOutput(c, name, u.Text)
	case programs.List, programs.Enter:
		a.decidePath(&c.Place, List, u.Text, u.Glob, argv)
	case programs.Delete:
		a.decidePath(&c.Place, Delete, u.Text, u.Glob, argv)
	case programs.Path:
		a.decideArgument(c, name, argv, u.Text, u.Glob)
	case programs.Script:
		a.decidePath(&c.Place, Read, u.Text, u.Glob, argv)
		a.decideScript(c, u.Text, u.Lang, u.Params)
	case programs.Code:
		a.decideCode(c, u.Lang, u.Text, u.Params)
	case programs.Input:
		a.decideStdin(c, u)
	case programs.Command:
		a.followCommand(c, name, u)
	}
}

// maxInputLines limits the input lines that are analysed when a command such as xargs starts another for each.
const maxInputLines = 16

// followCommand analyses a command the program starts.
func (a *analysis) followCommand(c *shell.Call, name string, u programs.Use) {
	if !u.Items {
		dir := u.Dir
		if dir != "" && !strings.HasPrefix(dir, "/") {
			dir = c.Dir + "/" + dir
		}
		c.Output = c.InterpretCommand(name, u.Argv, u.Env, dir)
		return
	}
	items := []string{shell.Item}
	if isDownloaded(c.Stdin.From) {
		items[0] = shell.Unknown
	}
	switch {
	case c.Stdin.Known && u.Text == "":
		items = strings.Fields(strings.ReplaceAll(c.Stdin.Text, "\x00", "\n"))
	case c.Stdin.Known:
		items = strings.Split(strings.TrimSpace(c.Stdin.Text), "\n")
	}
	if u.Text == "" {
		argv := append([]shell.Field(nil), u.Argv...)
		for _, item := range items {
			argv = append(argv, shell.Field{Text: item})
		}
		c.InterpretPiped(name, argv, shell.Stream{})
		return
	}
	for _, item := range items[:min(len(items), maxInputLines)] {
		each := make([]shell.Field, len(u.Argv))
		for i, f := range u.Argv {
			each[i] = shell.Field{Text: strings.ReplaceAll(f.Text, u.Text, item), Glob: f.Glob}
		}
		c.InterpretPiped(name, each, shell.Stream{})
	}
}

// isDownloaded reports whether a text comes from a command that downloads or decodes.
func isDownloaded(from []string) bool {
	for _, name := range from {
		switch name {
		case "curl", "wget", "nc", "ncat", "http", "https", "xh", "aria2c", "fetch", "lynx", "w3m", "invoke-webrequest",
			"iwr",
			"base64", "base32", "xxd", "openssl", "gpg", "uudecode", "tr", "rev":
			return true
		}
	}
	return false
}

// recordDownloads records the files of curl -O and wget, in case the text executes them.
func recordDownloads(c *shell.Call, name string) {
	for _, f := range c.Argv[1:] {
		base := path.Base(f.Text)
		url := programs.IsRemote(f.Text) || name == "wget" && strings.Contains(f.Text, "/")
		if url && !strings.HasPrefix(f.Text, "-") && base != "." && base != "/" {
			c.RecordWrite(base, shell.Stream{Piped: true, From: []string{name}})
		}
	}
}

// recordOutput records files that programs download or create, in case the text executes them.
func recordOutput(c *shell.Call, name, file string) {
	switch {
	case name == "tee":
		c.RecordWrite(file, c.Stdin)
	case isDownloaded([]string{name}), name == "axel", name == "scp":
		c.RecordWrite(file, shell.Stream{Piped: true, From: []string{name}})
	case name == "cp", name == "mv", name == "install", name == "ln", name == "gunzip", name == "unzip":
		for _, f := range c.Argv[1:] {
			if f.Text == "/dev/stdin" {
				c.RecordWrite(file, c.Stdin)
			}
			if content, ok := c.WrittenContent(f.Text); ok && f.Text != file {
				c.RecordWrite(file, content)
			}
		}
	}
}

// decideListedPaths decides on known paths a program reads from stdin.
func (a *analysis) decideListedPaths(c *shell.Call) {
	if !c.Stdin.Known {
		return
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		a.decidePath(&c.Place, Read, line, false, shell.FieldTexts(c.Argv))
	}
}

// readsPathsFromStdin reports whether a program reads file names from stdin.
func readsPathsFromStdin(argv []string) bool {
	switch argv[0] {
	case "cpio", "pax", "afio":
		return true
	case "zip", "tar", "rsync", "wc", "du", "cat", "sort":
	default:
		return false
	}
	for i, arg := range argv {
		before := argv[max(i-1, 0)]
		switch {
		case arg == "-@", strings.HasSuffix(arg, "-from=-"), strings.HasSuffix(arg, "-from=/dev/stdin"), arg == "-T-":
			return true
		case (arg == "-" || arg == "/dev/stdin") && i > 0 && (strings.HasSuffix(before, "T") || strings.HasSuffix(before,
			"-from")):
			return true
		}
	}
	return false
}
