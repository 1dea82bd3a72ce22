package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// maxArguments is the maximum number of arguments of all commands together.
const maxArguments = 1 << 14

// checkArguments checks all arguments of a program by their uses.
func (a *commandAnalysis) checkArguments(c *shell.SimpleCommand, name string) {
	dir, argv := "", shell.ArgumentTexts(c.Argv)
	if a.arguments += len(argv); a.arguments > maxArguments {
		a.VisitProblem(&c.CommandLocation, shell.AnalysisProblem{Kind: shell.TooComplex, Reason: "the command has too many arguments to analyse"})
		return
	}
	before := a.elsewhere
	defer func() { a.elsewhere = before }()
	a.elsewhere = before || !localStarters[name]
	for _, u := range programs.FindArgumentUses(name, c.Argv[1:]) {
		switch {
		case u.Kind == programs.Enter:
			dir, a.elsewhere = u.Text, true
		case u.Kind == programs.Command && u.Dir == "":
			u.Dir = dir
		}
		a.checkArgumentUse(c, name, argv, u)
	}
}

func (a *commandAnalysis) checkArgumentUse(c *shell.SimpleCommand, name string, argv []string, u programs.ArgumentUse) {
	switch u.Kind {
	case programs.Read:
		a.checkPath(&c.CommandLocation, Read, u.Text, u.Glob, argv)
	case programs.Write:
		a.checkPath(&c.CommandLocation, Write, u.Text, u.Glob, argv)
		trackWrittenContent(c, name, u.Text)
	case programs.List, programs.Enter:
		a.checkPath(&c.CommandLocation, List, u.Text, u.Glob, argv)
	case programs.Delete:
		a.checkPath(&c.CommandLocation, Delete, u.Text, u.Glob, argv)
	case programs.Path:
		a.checkUntypedArgument(c, name, argv, u.Text, u.Glob)
	case programs.Script:
		a.checkPath(&c.CommandLocation, Read, u.Text, u.Glob, argv)
		a.checkScriptFile(c, u.Text, u.Lang, u.Params)
	case programs.Code:
		a.checkCode(c, u.Lang, u.Text, u.Params)
	case programs.Input:
		a.checkStdinCode(c, u)
	case programs.Command:
		a.checkStartedCommand(c, name, u)
	}
}

// maxInputLines is the maximum number of analysed input lines of a command such as xargs, which starts a command for
// each.
const maxInputLines = 16

func (a *commandAnalysis) checkStartedCommand(c *shell.SimpleCommand, name string, u programs.ArgumentUse) {
	if !u.Items {
		dir := u.Dir
		if dir != "" && !strings.HasPrefix(dir, "/") {
			dir = c.Dir + "/" + dir
		}
		c.Output = c.InterpretStartedCommand(name, u.Argv, u.Env, dir)
		return
	}
	items := []string{shell.Item}
	if anyDownloadsOrDecodes(c.Stdin.From) {
		items[0] = shell.Unknown
	}
	switch {
	case c.Stdin.Known && u.Text == "":
		items = strings.Fields(strings.ReplaceAll(c.Stdin.Text, "\x00", "\n"))
	case c.Stdin.Known:
		items = strings.Split(strings.TrimSpace(c.Stdin.Text), "\n")
	}
	if u.Text == "" {
		c.InterpretStartedCommandWithStdin(name, slices.Concat(u.Argv, shell.PlainArguments(items...)), shell.StreamContent{})
		return
	}
	for _, item := range items[:min(len(items), maxInputLines)] {
		each := make([]shell.Argument, len(u.Argv))
		for i, f := range u.Argv {
			each[i] = shell.Argument{Text: strings.ReplaceAll(f.Text, u.Text, item), Glob: f.Glob}
		}
		c.InterpretStartedCommandWithStdin(name, each, shell.StreamContent{})
	}
}

// anyDownloadsOrDecodes reports whether one of the commands that print a text downloads or decodes data.
func anyDownloadsOrDecodes(from []string) bool {
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

// recordDownloadedFiles records the files that curl -O and wget create, in case the text executes them.
func recordDownloadedFiles(c *shell.SimpleCommand, name string) {
	for _, f := range c.Argv[1:] {
		base := path.Base(f.Text)
		url := programs.IsRemoteFile(f.Text) || name == "wget" && strings.Contains(f.Text, "/")
		if url && !strings.HasPrefix(f.Text, "-") && base != "." && base != "/" {
			c.RecordFileWrite(base, shell.StreamContent{Piped: true, From: []string{name}})
		}
	}
}

// trackWrittenContent records a file that a program downloads or creates, in case the text executes it.
func trackWrittenContent(c *shell.SimpleCommand, name, file string) {
	switch {
	case name == "tee":
		c.RecordFileWrite(file, c.Stdin)
	case anyDownloadsOrDecodes([]string{name}), name == "axel", name == "scp":
		c.RecordFileWrite(file, shell.StreamContent{Piped: true, From: []string{name}})
	case name == "cp", name == "mv", name == "install", name == "ln", name == "gunzip", name == "unzip":
		for _, f := range c.Argv[1:] {
			if f.Text == "/dev/stdin" {
				c.RecordFileWrite(file, c.Stdin)
			}
			if content, ok := c.FindWrittenContent(f.Text); ok && f.Text != file {
				c.RecordFileWrite(file, content)
			}
		}
	}
}

// checkStdinPaths checks the paths that a program reads from known standard input.
func (a *commandAnalysis) checkStdinPaths(c *shell.SimpleCommand) {
	if !c.Stdin.Known {
		return
	}
	for _, line := range strings.Split(c.Stdin.Text, "\n") {
		a.checkPath(&c.CommandLocation, Read, line, false, shell.ArgumentTexts(c.Argv))
	}
}

// readsPathsFromStdin reports whether a program reads file names from standard input.
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
