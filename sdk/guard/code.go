package guard

import (
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/inline"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// decideCode decides on code in any language.
func (a *analysis) decideCode(c *shell.Call, language, text string, params []string) {
	switch language {
	case "sh":
		c.Output = c.InterpretCode(text, params)
		return
	case "cmd", "powershell":
		a.decideWindowsLine(c, language, text)
		return
	}
	if language != "sed" && shell.HasUnknown(text) && !strings.ContainsFunc(text, unicode.IsLetter) {
		a.addComputedFinding(&c.Place, "exec.dynamic", reasonDangerous, "the "+language+" code is only known when it runs", saferPlain,
			c.From)
		return
	}
	for _, e := range inline.Effects(language, text) {
		a.decideEffect(c, language, e)
	}
}

// decideEffect decides on an effect of code.
func (a *analysis) decideEffect(c *shell.Call, language string, e inline.Effect) {
	argv := shell.FieldTexts(c.Argv)
	if e.ChangesDir {
		c = c.WithUnknownDir()
	}
	before := c.Place
	if c.Place = before.FindWithin(e.Text); len(e.Argv) > 0 {
		c.Place = before.FindWithin(e.Argv...)
	}
	defer func() { c.Place = before }()
	switch e.Kind {
	case inline.Shell:
		switch {
		case e.Input != "":
			c.InterpretCodeFrom(e.Text, shell.StreamOf(e.Input))
		case e.ReadsOutput:
			c.InterpretCodeFrom(e.Text, shell.Stream{Piped: true, From: []string{language}})
		default:
			c.InterpretCode(e.Text, nil)
		}
	case inline.Argv:
		fields := make([]shell.Field, len(e.Argv))
		for i, word := range e.Argv {
			fields[i] = shell.Field{Text: word}
		}
		stdin := shell.Stream{}
		if e.Input != "" {
			stdin = shell.StreamOf(e.Input)
		}
		c.InterpretPiped(language, fields, stdin)
	case inline.Computed:
		a.addComputedFinding(&c.Place, "exec.dynamic", reasonDangerous, e.Text+" that is only known when it runs", saferPlain, nil)
	case inline.Read:
		a.decidePath(&c.Place, Read, a.expandTilde(c, e.Text), false, argv)
	case inline.Write:
		a.decidePath(&c.Place, Write, a.expandTilde(c, e.Text), false, argv)
	case inline.List:
		a.decidePath(&c.Place, List, a.expandTilde(c, e.Text), false, argv)
	case inline.Delete:
		a.decidePath(&c.Place, Delete, a.expandTilde(c, e.Text), false, argv)
	case inline.ForkBomb:
		a.addHardFinding(c, "exec.fork-bomb", "the code multiplies without end: "+e.Text)
	case inline.Remote:
		a.addHardFinding(c, "exec.remote-shell", "the code connects a command with another machine: "+e.Text)
	case inline.Complex:
		a.addHardFinding(c, "exec.too-complex", e.Text)
	}
}

// decideStdin decides on a program that executes its standard input.
func (a *analysis) decideStdin(c *shell.Call, u programs.Use) {
	switch {
	case c.Stdin.Known:
		if argv := shell.FieldTexts(c.Argv); u.Lang == "sql" && a.rules {
			a.applyRules(c, programs.CanonicalName(shell.ProgramName(argv[0])), append(argv, c.Stdin.Text))
		}
		a.decideCode(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.File != "" && !isStdinPath(c.Stdin.File):
		a.decideScript(c, c.Stdin.File, u.Lang, u.Params)
	case c.Stdin.Piped && u.Lang != "vim" && u.Lang != "sql":
		why := "it runs the output of another command: " + strings.Join(c.Stdin.From, ", ")
		a.addSoftFinding(c, "exec.pipe-to-shell", why, saferSaved)
	}
}

// decideScript decides on a script, if the same command line wrote it.
func (a *analysis) decideScript(c *shell.Call, file, language string, params []string) {
	if isStdinPath(file) {
		a.decideStdin(c, programs.Use{Lang: language, Params: params})
		return
	}
	content, written := c.WrittenContent(file)
	switch {
	case !written:
	case content.Known:
		a.decideCode(c, shebangLanguage(content.Text, language), content.Text, params)
	case strings.HasPrefix(file, "/dev/fd/") || isDownloaded(content.From):
		why := "it runs a file that another command just created: " + strings.Join(content.From, ", ")
		a.addSoftFinding(c, "exec.download-run", why, saferSaved)
	}
}

// shebangLanguage returns the language in a script's first line, or else the given one.
func shebangLanguage(text, language string) string {
	line, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(line, "#!")
	if !ok || language != "sh" {
		return language
	}
	for _, word := range strings.Fields(line) {
		switch name := programs.CanonicalName(shell.ProgramName(word)); name {
		case "env", "-s":
		case "python", "perl", "ruby", "node", "php", "lua", "awk", "sed":
			return name
		default:
			return language
		}
	}
	return language
}

// isStdinPath reports whether a path is the standard input of the process.
func isStdinPath(file string) bool {
	return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}
