package guard

import (
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/inline"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// code decides on code in any language.
func (a *analysis) code(c *shell.Call, language, text string, params []string) {
	switch language {
	case "sh":
		c.Output = c.InterpretCode(text, params)
		return
	case "cmd", "powershell":
		a.windowsLine(c, language, text)
		return
	}
	if language != "sed" && shell.HasUnknown(text) && !strings.ContainsFunc(text, unicode.IsLetter) {
		a.computed(&c.Place, "exec.dynamic", reasonDangerous, "the "+language+" code is only known when it runs", saferPlain,
			c.From)
		return
	}
	for _, e := range inline.Effects(language, text) {
		a.effect(c, language, e)
	}
}

// effect decides on something that code does.
func (a *analysis) effect(c *shell.Call, language string, e inline.Effect) {
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
		a.computed(&c.Place, "exec.dynamic", reasonDangerous, e.Text+" that is only known when it runs", saferPlain, nil)
	case inline.Read:
		a.path(&c.Place, Read, a.home(c, e.Text), false, argv)
	case inline.Write:
		a.path(&c.Place, Write, a.home(c, e.Text), false, argv)
	case inline.List:
		a.path(&c.Place, List, a.home(c, e.Text), false, argv)
	case inline.Delete:
		a.path(&c.Place, Delete, a.home(c, e.Text), false, argv)
	case inline.ForkBomb:
		a.hard(c, "exec.fork-bomb", "the code multiplies without end: "+e.Text)
	case inline.Remote:
		a.hard(c, "exec.remote-shell", "the code connects a command with another machine: "+e.Text)
	case inline.Complex:
		a.hard(c, "exec.too-complex", e.Text)
	}
}

// input decides on a program that runs its standard input as code.
func (a *analysis) input(c *shell.Call, u programs.Use) {
	switch {
	case c.Stdin.Known:
		if argv := shell.FieldTexts(c.Argv); u.Lang == "sql" && a.rules {
			a.judge(c, programs.CanonicalName(shell.ProgramName(argv[0])), append(argv, c.Stdin.Text))
		}
		a.code(c, u.Lang, c.Stdin.Text, u.Params)
	case c.Stdin.File != "" && !ownInput(c.Stdin.File):
		a.script(c, c.Stdin.File, u.Lang, u.Params)
	case c.Stdin.Piped && u.Lang != "vim" && u.Lang != "sql":
		why := "it runs what another command prints: " + strings.Join(c.Stdin.From, ", ")
		a.soft(c, "exec.pipe-to-shell", why, saferSaved)
	}
}

// script decides on a file that is run as code, as far as the same text has written it.
func (a *analysis) script(c *shell.Call, file, language string, params []string) {
	if ownInput(file) {
		a.input(c, programs.Use{Lang: language, Params: params})
		return
	}
	content, written := c.WrittenContent(file)
	switch {
	case !written:
	case content.Known:
		a.code(c, shebang(content.Text, language), content.Text, params)
	case strings.HasPrefix(file, "/dev/fd/") || foreign(content.From):
		why := "it runs what another command has just made: " + strings.Join(content.From, ", ")
		a.soft(c, "exec.download-run", why, saferSaved)
	}
}

// shebang returns the language that the first line of a script names, or else the given one.
func shebang(text, language string) string {
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

// ownInput reports whether a path names the standard input of the process that opens it.
func ownInput(file string) bool {
	return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}
