package guard

import (
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/inline"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

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
