package guard

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/inline"
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

// checkCode analyses code in any language and checks its effects.
func (a *commandAnalysis) checkCode(c *shell.SimpleCommand, language, text string, params []string) {
	switch language {
	case "sh":
		c.Output = c.InterpretCode(text, params)
		return
	case "cmd", "powershell":
		a.checkWindowsLine(c, language, text)
		return
	}
	if language != "sed" && shell.HasUnknown(text) && !strings.ContainsFunc(text, unicode.IsLetter) {
		a.addComputedFinding(&c.CommandLocation, "exec.dynamic", reasonDangerous, "the "+language+" code is only known when it runs", saferPlain,
			c.From)
		return
	}
	for _, e := range inline.FindEffects(language, text) {
		a.checkCodeEffect(c, language, e)
	}
}

// codeAccess maps file effects of code to kinds of access.
var codeAccess = map[inline.EffectKind]AccessKind{
	inline.Read: Read, inline.Write: Write, inline.List: List, inline.Delete: Delete,
}

// checkCodeEffect checks one effect of code: a started command or a file access.
func (a *commandAnalysis) checkCodeEffect(c *shell.SimpleCommand, language string, e inline.CodeEffect) {
	argv := shell.ArgumentTexts(c.Argv)
	if e.ChangesDir {
		c = c.WithUnknownDir()
	}
	before := c.CommandLocation
	if c.CommandLocation = before.LocateTexts(e.Text); len(e.Argv) > 0 {
		c.CommandLocation = before.LocateTexts(e.Argv...)
	}
	defer func() { c.CommandLocation = before }()
	switch e.Kind {
	case inline.Shell:
		switch {
		case e.Input != "":
			c.InterpretCodeWithStdin(e.Text, shell.TextStream(e.Input))
		case e.ReadsOutput:
			c.InterpretCodeWithStdin(e.Text, shell.StreamContent{Piped: true, From: []string{language}})
		default:
			c.InterpretCode(e.Text, nil)
		}
	case inline.Argv:
		stdin := shell.StreamContent{}
		if e.Input != "" {
			stdin = shell.TextStream(e.Input)
		}
		c.InterpretStartedCommandWithStdin(language, shell.PlainArguments(e.Argv...), stdin)
	case inline.Computed:
		a.addComputedFinding(&c.CommandLocation, "exec.dynamic", reasonDangerous, e.Text+" that is only known when it runs", saferPlain, nil)
	case inline.Read, inline.Write, inline.List, inline.Delete:
		a.checkPath(&c.CommandLocation, codeAccess[e.Kind], a.expandTilde(c, e.Text), false, argv)
	case inline.ForkBomb:
		a.addUnliftableFinding(c, "exec.fork-bomb", "the code multiplies without end: "+e.Text)
	case inline.Remote:
		a.addUnliftableFinding(c, "exec.remote-shell", "the code connects a command with another machine: "+e.Text)
	case inline.Complex:
		a.addUnliftableFinding(c, "exec.too-complex", e.Text)
	}
}

// checkStdinCode checks a program that executes its standard input.
func (a *commandAnalysis) checkStdinCode(c *shell.SimpleCommand, u programs.ArgumentUse) {
	switch {
	case c.Stdin.Known:
		if argv := shell.ArgumentTexts(c.Argv); u.Lang == "sql" && a.rules {
			a.addCommandRuleFindings(c, programs.CanonicalProgramName(shell.ProgramName(argv[0])), append(argv, c.Stdin.Text))
		}
		a.checkCode(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.File != "" && !isStdinPath(c.Stdin.File):
		a.checkScriptFile(c, c.Stdin.File, u.Lang, u.Params)
	case c.Stdin.Piped && u.Lang != "vim" && u.Lang != "sql":
		why := "it runs the output of another command: " + strings.Join(c.Stdin.From, ", ")
		a.addLiftableFinding(c, "exec.pipe-to-shell", why, saferSaved)
	}
}

// checkScriptFile checks the content of a script that the same command line wrote.
func (a *commandAnalysis) checkScriptFile(c *shell.SimpleCommand, file, language string, params []string) {
	if isStdinPath(file) {
		a.checkStdinCode(c, programs.ArgumentUse{Lang: language, Params: params})
		return
	}
	content, written := c.FindWrittenContent(file)
	switch {
	case !written:
	case content.Known:
		a.checkCode(c, shebangLanguage(content.Text, language), content.Text, params)
	case strings.HasPrefix(file, "/dev/fd/") || anyDownloadsOrDecodes(content.From):
		why := "it runs a file that another command just created: " + strings.Join(content.From, ", ")
		a.addLiftableFinding(c, "exec.download-run", why, saferSaved)
	}
}

// shebangLanguage returns the language in a script's #! line, or else the given one.
func shebangLanguage(text, language string) string {
	line, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(line, "#!")
	if !ok || language != "sh" {
		return language
	}
	for _, word := range strings.Fields(line) {
		switch name := programs.CanonicalProgramName(shell.ProgramName(word)); name {
		case "env", "-s":
		case "python", "perl", "ruby", "node", "php", "lua", "awk", "sed":
			return name
		default:
			return language
		}
	}
	return language
}

// isStdinPath reports whether a path names the standard input of the process.
func isStdinPath(file string) bool {
	return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}
